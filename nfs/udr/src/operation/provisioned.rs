//! Reading what is provisioned, TS 29.505 §5.2.2 to §5.2.5 (Rel-17). Every serving network gets the same.

use super::{Operation, Server};
use api::common::{Dnn, Snssai, Supi};
use api::nudr_dr::DataSet;
use api::query::Query;
use sbi::problem::Cause;
use sbi::server::{Failure, Reply};
use serde_json::{Map, Value};

/// Several sets in one object: those in `dataset-names`, else all.
pub(super) fn sets(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    let query = Query::parse(&operation.query)?;
    let wanted = query.single("dataset-names")?.map_or(DataSet::ALL.into(), DataSet::listed);
    if wanted.is_empty() {
        return Err(Failure::new(Cause::DataNotFound, "none of these data sets is kept here"));
    }
    let all: Map<String, Value> = server.repository.provisioned(supi, |profile| {
        wanted.iter().map(|set| (set.attribute().to_owned(), profile.set(*set))).collect()
    })?;
    Ok(Reply::ok(&all))
}

/// One set, narrowed to what was asked for.
pub(super) fn set(
    server: &Server<'_>,
    operation: &Operation,
    supi: &Supi,
    set: DataSet,
) -> Result<Reply, Failure> {
    let query = Query::parse(&operation.query)?;
    if set == DataSet::Sm {
        let slice: Option<Snssai> = query.json("single-nssai")?;
        let dnn: Option<Dnn> = query.text("dnn")?;
        return Ok(Reply::ok(&server.repository.sm_data(supi, slice.as_ref(), dnn.as_ref())?));
    }
    let mut data = server.repository.provisioned(supi, |profile| profile.set(set))?;
    if let (Some(fields), Value::Object(attributes)) = (query.single("fields")?, &mut data) {
        let wanted: Vec<&str> = fields.split(',').map(|field| field.trim_start_matches('/')).collect();
        attributes.retain(|name, _| wanted.contains(&name.as_str()));
    }
    Ok(Reply::ok(&data))
}
