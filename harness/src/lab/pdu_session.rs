//! A PDU session to start, with values that work unless something else is said.

use crate::subscribers::{DEFAULT_DNN, dnn, supi};
use amf::EstablishPduSession;
use api::common::{PduSessionId, Snssai, Supi};
use api::nsmf_pdusession::Session;
use sbi::client::TimingMode;
use std::time::Duration;

/// A PDU session of a lab's subscriber: by default the first one's session 5, slice 1, data network `internet`.
#[derive(Clone, Debug)]
pub struct PduSession {
    session: Session,
    max_rsp_time: Option<Duration>,
    timing: TimingMode,
    pub(super) smf: Option<String>,
}

impl Default for PduSession {
    fn default() -> Self {
        PduSession::of(0)
    }
}

impl PduSession {
    /// Of subscriber number `n`, from 0.
    pub fn of(n: u64) -> Self {
        let session = Session {
            supi: supi(n),
            pdu_session_id: PduSessionId(5),
            dnn: dnn(DEFAULT_DNN),
            s_nssai: Snssai::sst(1),
        };
        PduSession { session, max_rsp_time: None, timing: TimingMode::True, smf: None }
    }

    /// Of this subscriber.
    #[must_use]
    pub fn ue(mut self, supi: Supi) -> Self {
        self.session.supi = supi;
        self
    }

    /// Another of the UE's sessions.
    #[must_use]
    pub fn id(mut self, id: u8) -> Self {
        self.session.pdu_session_id = PduSessionId(id);
        self
    }

    /// To another data network.
    #[must_use]
    pub fn dnn(mut self, name: &str) -> Self {
        self.session.dnn = dnn(name);
        self
    }

    /// How long the AMF waits, and says so in Max-Rsp-Time.
    #[must_use]
    pub fn max_rsp_time_ms(mut self, ms: u64) -> Self {
        self.max_rsp_time = Some(Duration::from_millis(ms));
        self
    }

    /// The Sender-Timestamp lies so many milliseconds in the past.
    #[must_use]
    pub fn stamped_ms_ago(mut self, ms: i64) -> Self {
        self.timing = TimingMode::Skewed(-ms);
        self
    }

    /// Without timing headers.
    #[must_use]
    pub fn without_deadline(mut self) -> Self {
        self.timing = TimingMode::Omitted;
        self
    }

    /// At another SMF of the lab.
    #[must_use]
    pub fn at(mut self, smf: &str) -> Self {
        self.smf = Some(smf.into());
        self
    }

    pub(super) fn message(&self) -> EstablishPduSession {
        EstablishPduSession {
            session: self.session.clone(),
            smf: None,
            max_rsp_time: self.max_rsp_time,
            timing: self.timing,
        }
    }
}
