//! Reading session data: `Nudm_SDM_Get`, TS 29.503 §5.2.2.2.5 (Rel-17).

use crate::sdm::GetSmData;
use crate::udm::Core;
use api::common::{Dnn, PlmnId, Snssai};
use api::query::{Query, json_param, text_param};
use sbi::server::{Failure, Reply};
use std::rc::Rc;

/// Reads from the UDR what the consumer asked for, and passes it on as it is.
pub(crate) async fn get(core: Rc<Core>, message: GetSmData) -> Result<Reply, Failure> {
    let query = Query::parse(&message.query)?;
    let slice: Option<Snssai> = query.json("single-nssai")?;
    let dnn: Option<Dnn> = query.text("dnn")?;
    let plmn: Option<PlmnId> = query.json("plmn-id")?;
    let filters: Vec<_> = [
        slice.map(|slice| json_param("single-nssai", &slice)),
        dnn.map(|dnn| text_param("dnn", dnn.as_str())),
    ]
    .into_iter()
    .flatten()
    .collect();
    let filters = if filters.is_empty() { String::new() } else { format!("?{}", filters.join("&")) };
    let plmn = plmn.as_ref().unwrap_or(&core.config.home_plmn);
    let call = core.sm_data_call(&message.supi, plmn, &filters);
    let answer = core.shard.client().ask(&message.served, call).await?;
    Ok(Reply::json(answer.body))
}
