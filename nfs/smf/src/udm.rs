//! The consumer side towards the UDM: `Nudm_SDM` and `Nudm_UECM`, TS 29.503 (Rel-17).

use crate::context::SessionKey;
use crate::endpoint::SDM_CALLBACK;
use crate::smf::Core;
use api::common::{Ambr, BitRate, NfInstanceId, PduSessionType, PlmnId, Rest};
use api::nsmf_pdusession::Session;
use api::nudm_sdm::{self, SdmSubscription, SmData};
use api::nudm_uecm::{self, SmfRegistration};
use http::Method;
use sbi::client::Call;
use sbi::json;
use sbi::nrf::in_body;
use sbi::problem::Cause;
use sbi::release::{Attempt, Creation, Settle, SlotKey, Undo};
use sbi::server::Failure;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use std::sync::Arc;

/// What ends what an SMF makes at its UDM: the same for each session.
pub(crate) struct Undos {
    subscription: Arc<Undo>,
    registration: Arc<Undo>,
}

impl Undos {
    pub(crate) fn of(smf: NfInstanceId) -> Self {
        // Naming itself, the SMF cannot hit another's registration: 422 says that it is one.
        let registration = Undo::delete_there(format!("?smf-instance-id={smf}")).done_if(422, None);
        Undos { subscription: Undo::delete_location().into(), registration: registration.into() }
    }
}

/// What a subscription lets a session have.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Allowed {
    pub(crate) pdu_session_type: PduSessionType,
    pub(crate) session_ambr: Ambr,
}

impl Core {
    fn at_udm(&self, path: &str) -> String {
        format!("{}{path}", self.config.udm)
    }

    fn instance_id(&self) -> NfInstanceId {
        NfInstanceId(self.shard.party.instance_id)
    }

    /// Reads the session data, and checks that the session is subscribed.
    pub(crate) async fn read_sm_data(
        &self,
        attempt: &Attempt,
        session: &Session,
        serving_network: &PlmnId,
    ) -> Result<Rc<Allowed>, Failure> {
        let path = nudm_sdm::sm_data_of(&session.supi, &session.s_nssai, &session.dnn, serving_network);
        let answer = attempt.read(Call::get(self.at_udm(&path))).await?;
        let unusable = |_| Failure::new(Cause::UnspecifiedNfFailure, "the UDM's session data cannot be read");
        let data = SmData::decode(&answer.body).map_err(unusable)?;
        let denied = |cause| {
            Failure::new(
                cause,
                format!("{} may not use {} in slice {}", session.supi, session.dnn, session.s_nssai),
            )
        };
        let dnn = data.allows(&session.s_nssai, &session.dnn).map_err(denied)?;
        let gigabit = || Ambr { uplink: BitRate::mbps(1_000), downlink: BitRate::mbps(1_000) };
        Ok(self.shared(Allowed {
            pdu_session_type: dnn
                .pdu_session_types
                .default_session_type
                .clone()
                .unwrap_or(PduSessionType::IPV4),
            session_ambr: dnn.session_ambr.clone().unwrap_or_else(gigabit),
        }))
    }

    /// Most sessions are allowed what the one before was: they share it.
    pub(crate) fn shared(&self, allowed: Allowed) -> Rc<Allowed> {
        let mut newest = self.newest_allowed.borrow_mut();
        let same = newest.take().filter(|newest| **newest == allowed);
        newest.insert(same.unwrap_or_else(|| Rc::new(allowed))).clone()
    }

    /// Subscribes to changes of the session data (R6), once for all sessions of a subscriber with the same DNN and slice:
    /// it ends with the last of them.
    pub(crate) async fn subscribe(&self, attempt: &mut Attempt, session: &Session) -> Result<(), Failure> {
        let (sst, sd) = session.s_nssai.identity();
        // Neither a SUPI nor a DNN can hold a control character.
        let key = format!("sdm\x1f{}\x1f{}\x1f{sst}-{sd:06x}", session.supi, session.dnn.canonical());
        attempt.share(key.into(), || self.subscription(session)).await?;
        Ok(())
    }

    /// The callback's name is the subscription's own, so that asking again with `uniqueSubscription` finds it and no other
    /// attempt's.
    fn subscription(&self, session: &Session) -> (Arc<str>, Creation) {
        let callback: Arc<str> = self.new_reference().into();
        let address = format!("{}{SDM_CALLBACK}/{callback}", self.shard.party.api_root);
        let monitored = in_body(&self.at_udm(&nudm_sdm::sm_data(&session.supi))).to_owned();
        let subscription = SdmSubscription {
            single_nssai: Some(session.s_nssai),
            dnn: Some(session.dnn.clone()),
            ..SdmSubscription::new(self.instance_id(), address, monitored)
        };
        let unique = SdmSubscription { unique_subscription: Some(true), ..subscription.clone() };
        let post = |body| {
            Call::new(Method::POST, self.at_udm(&nudm_sdm::sdm_subscriptions(&session.supi))).with_json(body)
        };
        let creation = Creation {
            kind: "sdm-subscription",
            call: post(&subscription),
            undo: self.undo.subscription.clone(),
            before: None,
            settle: Some(Settle::Repeat { call: Box::new(post(&unique)), older: None }),
            slot: None,
        };
        (callback, creation)
    }

    /// Registers for the session (R13). A context that this SMF holds for it already keeps its registration if the
    /// attempt is given up; which one that is, is known once the slot is taken.
    pub(crate) async fn register(&self, attempt: &mut Attempt, session: &Session) -> Result<(), Failure> {
        let key = SessionKey::of(session);
        let uri = self.at_udm(&nudm_uecm::smf_registration(&key.supi, key.pdu_session_id));
        let registration = self.registration_of(session);
        let slot = SlotKey::Uri(uri.as_str().into());
        let taken = attempt.take(&slot).await?;
        let older = {
            let contexts = self.contexts.borrow();
            let older = contexts.by_session.newest(&key).filter(|(_, held)| held.is_registered);
            older.map(|(_, held)| self.registration_of(&held.session))
        };
        let creation = Creation {
            kind: "smf-registration",
            call: Call::new(Method::PUT, &uri).with_json(&registration),
            undo: self.undo.registration.clone(),
            before: older.as_ref().map(json::to_value),
            settle: None,
            slot: Some(slot),
        };
        attempt.create_in(taken, creation).await?;
        Ok(())
    }

    fn registration_of(&self, session: &Session) -> SmfRegistration {
        SmfRegistration {
            smf_instance_id: self.instance_id(),
            pdu_session_id: session.pdu_session_id,
            single_nssai: session.s_nssai,
            dnn: Some(session.dnn.clone()),
            plmn_id: self.config.plmn.clone(),
            rest: Rest::new(),
        }
    }
}
