//! Reading policy data, TS 29.519 §5.2.3 and §5.2.5 (Rel-17).

use super::{Operation, Server};
use api::common::{Dnn, Snssai, Supi};
use api::query::Query;
use sbi::problem::Cause;
use sbi::server::{Failure, Reply};
use serde_json::{Map, Value};

/// Access and mobility.
pub(super) fn am_data(server: &Server<'_>, supi: &Supi) -> Result<Reply, Failure> {
    Ok(Reply::ok(&server.repository.provisioned(supi, |profile| profile.am_policy.clone())?))
}

/// Session management: of one slice and data network, or of all.
pub(super) fn sm_data(server: &Server<'_>, operation: &Operation, supi: &Supi) -> Result<Reply, Failure> {
    let query = Query::parse(&operation.query)?;
    let slice: Option<Snssai> = query.json("snssai")?;
    let dnn: Option<Dnn> = query.text("dnn")?;
    let mut data = server.repository.provisioned(supi, |profile| profile.sm_policy.clone())?;
    let Some(slices) = data.get_mut("smPolicySnssaiData").and_then(Value::as_object_mut) else {
        return Ok(Reply::ok(&data));
    };
    if let Some(slice) = slice {
        keep(slices, |key| key.parse() == Ok(slice));
    }
    if let Some(dnn) = dnn {
        let of_slices =
            slices.values_mut().filter_map(|slice| slice.get_mut("smPolicyDnnData")?.as_object_mut());
        of_slices.for_each(|dnns| keep(dnns, |key| key.parse().as_ref() == Ok(&dnn)));
        slices.retain(|_, slice| slice["smPolicyDnnData"].as_object().is_none_or(|dnns| !dnns.is_empty()));
    }
    match slices.is_empty() {
        true => Err(Failure::new(Cause::DataNotFound, "no policy data match")),
        false => Ok(Reply::ok(&data)),
    }
}

fn keep(map: &mut Map<String, Value>, wanted: impl Fn(&str) -> bool) {
    map.retain(|key, _| wanted(key));
}
