//! The PDU sessions that an AMF knows of.

use api::common::{PduSessionId, Supi};
use sbi::header::OriginationTimestamp;
use serde::{Deserialize, Serialize};

/// Which PDU session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SessionKey {
    pub(crate) supi: Supi,
    pub(crate) pdu_session_id: PduSessionId,
}

/// A PDU session that is being established.
pub(crate) struct Establishing {
    /// What the SMF's notifications about it are named by.
    pub(crate) notified_as: String,
    /// The gNB has set up its part before the 201 was read, or put on record.
    pub(crate) gnb_is_ready: bool,
    /// The SMF has ended it since.
    pub(crate) is_released: bool,
}

/// An established PDU session.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PduSession {
    /// Names its SM context in the ledger.
    #[serde(skip)]
    pub(crate) owner: String,
    /// Its SM context's URI.
    pub(crate) location: String,
    /// When the procedure that established it began.
    pub(crate) originated: OriginationTimestamp,
    /// What the SMF's notifications about this SM context, and no other, are named by.
    pub(crate) notified_as: String,
}
