//! Reading what a subscriber may do: `Nudm_SDM_Get`, TS 29.503 §5.2.2.2 (Rel-17).

use crate::sdm::{GetData, GetDataSets};
use crate::udm::Core;
use api::common::{Dnn, PlmnId, Snssai};
use api::nudm_sdm::SubscribedData;
use api::nudr_dr::DataSet;
use api::query::{Query, json_param, text_param};
use sbi::json;
use sbi::problem::{Cause, InvalidParam, ProblemDetails};
use sbi::server::{Failure, Reply};
use serde_json::{Map, Value};
use std::rc::Rc;

/// Reads from the UDR what the consumer asked for, and passes it on as it is; slices are a part of it.
pub(crate) async fn get(core: Rc<Core>, message: GetData) -> Result<Reply, Failure> {
    let query = Query::parse(&message.query)?;
    let plmn = core.serving_network(&query)?;
    let filters = match message.data {
        SubscribedData::Sm => session_filters(&query)?,
        SubscribedData::Nssai => "?fields=nssai".into(),
        SubscribedData::Am | SubscribedData::SmfSelection => String::new(),
    };
    let call = core.data_set_call(&message.supi, &plmn, message.data.set(), &filters);
    let answer = core.shard.client().ask(&message.served, call).await?;
    if message.data != SubscribedData::Nssai {
        return Ok(Reply::json(answer.body));
    }
    let am: Value = answer.json().unwrap_or_default();
    let nssai = am.get("nssai").filter(|nssai| nssai.is_object());
    let nssai = nssai.ok_or_else(|| Failure::new(Cause::DataNotFound, "no slices are subscribed"))?;
    Ok(Reply::ok(nssai))
}

fn session_filters(query: &Query) -> Result<String, Failure> {
    let slice: Option<Snssai> = query.json("single-nssai")?;
    let dnn: Option<Dnn> = query.text("dnn")?;
    let slice = slice.map(|slice| json_param("single-nssai", &slice));
    let dnn = dnn.map(|dnn| text_param("dnn", dnn.as_str()));
    let filters: Vec<_> = slice.into_iter().chain(dnn).collect();
    Ok(if filters.is_empty() { String::new() } else { format!("?{}", filters.join("&")) })
}

/// Reads several data sets in one answer; who serves is known here, everything else to the UDR.
pub(crate) async fn get_sets(core: Rc<Core>, message: GetDataSets) -> Result<Reply, Failure> {
    let query = Query::parse(&message.query)?;
    let plmn = core.serving_network(&query)?;
    let names = query.single("dataset-names")?.ok_or_else(no_names)?;
    let sets = DataSet::listed(names);
    let mut all = Map::new();
    if !sets.is_empty() {
        let call = core.data_sets_call(&message.supi, &plmn, &sets);
        let answer = core.shard.client().ask(&message.served, call).await?;
        all = answer.json().unwrap_or_default();
    }
    if names.split(',').any(|name| name == "UEC_SMF") {
        all.insert("uecSmfData".into(), json::to_value(&core.ue_context(&message.supi)));
    }
    match all.is_empty() {
        true => Err(Failure::new(Cause::DataNotFound, "none of these data sets is known here")),
        false => Ok(Reply::ok(&all)),
    }
}

fn no_names() -> ProblemDetails {
    let problem = ProblemDetails::new(Cause::MandatoryQueryParamMissing, "expected the names of data sets");
    problem.with_param(InvalidParam::query("dataset-names", "missing"))
}

impl Core {
    /// The network whose data are meant: the home network, if the consumer does not say.
    fn serving_network(&self, query: &Query) -> Result<PlmnId, Failure> {
        Ok(query.json("plmn-id")?.unwrap_or_else(|| self.config.home_plmn.clone()))
    }
}
