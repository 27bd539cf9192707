//! Telling the SMF what the gNB has set up: `Nsmf_PDUSession_UpdateSMContext`, TS 29.502 §5.2.2.3 (Rel-17).

use crate::amf::Core;
use api::common::RefToBinaryData;
use api::namf_comm::N2SmInfoType;
use api::ngap::{self, NGAP, Tunnel};
use api::nsmf_pdusession::SmContextUpdateData;
use http::Method;
use sbi::client::Call;
use sbi::event::{Kind, TraceId};
use sbi::json;
use sbi::multipart::{self, Part};
use sbi::party::Served;
use sbi::server::Failure;

const N2_CONTENT_ID: &str = "n2-sm";

/// The mock's gNB.
const GNB: Tunnel = Tunnel { address: [127, 0, 0, 2], teid: 1 };

impl Core {
    /// In the background. A refusal is told, and the session stays: it ends by its release (our choice).
    pub(crate) fn tell_resources_set_up(&self, sm_context: String, trace: TraceId) {
        let data = SmContextUpdateData {
            n2_sm_info: Some(RefToBinaryData { content_id: N2_CONTENT_ID.into() }),
            n2_sm_info_type: Some(N2SmInfoType::PDU_RES_SETUP_RSP),
            ..SmContextUpdateData::default()
        };
        let parts = [
            Part { content_type: "application/json".into(), content_id: None, body: json::to_bytes(&data) },
            Part {
                content_type: NGAP.into(),
                content_id: Some(N2_CONTENT_ID.into()),
                body: ngap::setup_response(GNB),
            },
        ];
        let (content_type, body) = multipart::write_fresh(&parts, self.shard.party.env.entropy.u64());
        let call = Call::new(Method::POST, format!("{sm_context}/modify")).with_body(content_type, body);
        let served = Served { trace, ..Served::own(&self.shard.party) };
        let client = self.shard.client().clone();
        actix::spawn(async move {
            if let Err(failure) = client.ask(&served, call).await {
                let facts = served
                    .facts(client.party())
                    .detail(format!("{sm_context}/modify: {}", Failure::from(failure)));
                client.party().emit(Kind::ProcedureFailed, facts);
            }
        });
    }
}
