//! Deregistering a UE: TS 23.502 §4.2.2.3 (Rel-17). Its sessions, the subscription and the registration end, newest first.

use crate::amf::Amf;
use crate::release_pdu_session::Released;
use actix::{Context, Handler, Message, ResponseFuture};
use api::common::Supi;
use sbi::party::Served;

/// Deregister a UE.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Released")]
pub struct DeregisterUe {
    /// The subscriber.
    pub supi: Supi,
}

impl Handler<DeregisterUe> for Amf {
    type Result = ResponseFuture<Released>;

    fn handle(&mut self, message: DeregisterUe, _: &mut Context<Self>) -> Self::Result {
        let core = self.0.clone();
        Box::pin(async move {
            let served = Served::own(&core.shard.party);
            let Ok(_turn) = core.shard.turn(&core.ue_turns, message.supi.clone(), &served).await else {
                return Released::Busy;
            };
            match core.clone().forget_ue(&message.supi).await {
                true => Released::Asked,
                false => Released::Unknown,
            }
        })
    }
}
