//! 5GSM messages between UE and SMF, as far as the mocks read and write them: TS 24.501 §8.3 (Rel-17).

use crate::common::{Ambr, Dnn, PduSessionId, PduSessionType, Snssai};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The media type of a message in a multipart body.
pub const NAS: &str = "application/vnd.3gpp.5gnas";

const SESSION_MANAGEMENT: u8 = 0x2e;
const ESTABLISHMENT_REQUEST: u8 = 0xc1;
const ESTABLISHMENT_ACCEPT: u8 = 0xc2;
const ESTABLISHMENT_REJECT: u8 = 0xc3;

/// What every 5GSM message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Which of the UE's sessions.
    pub pdu_session_id: PduSessionId,
    /// Which of the UE's procedures; an answer repeats it.
    pub pti: u8,
    kind: u8,
}

impl Header {
    /// Reads it; `None` if the bytes are no 5GSM message.
    pub fn read(message: &[u8]) -> Option<Header> {
        match *message {
            [SESSION_MANAGEMENT, id, pti, kind, ..] => {
                Some(Header { pdu_session_id: PduSessionId(id), pti, kind })
            }
            _ => None,
        }
    }

    /// Whether the message asks for a session.
    pub fn is_establishment_request(self) -> bool {
        self.kind == ESTABLISHMENT_REQUEST
    }

    /// Whether it grants one.
    pub fn is_establishment_accept(self) -> bool {
        self.kind == ESTABLISHMENT_ACCEPT
    }

    /// Whether it refuses one.
    pub fn is_establishment_reject(self) -> bool {
        self.kind == ESTABLISHMENT_REJECT
    }
}

/// PDU SESSION ESTABLISHMENT REQUEST with its mandatory part only, §8.3.1.
pub fn establishment_request(pdu_session_id: PduSessionId, pti: u8) -> Bytes {
    const FULL_RATE: u8 = 0xff;
    let head = [SESSION_MANAGEMENT, pdu_session_id.0, pti, ESTABLISHMENT_REQUEST];
    [&head[..], &[FULL_RATE, FULL_RATE]].concat().into()
}

/// What a session gets.
pub struct Granted<'a> {
    /// Its type.
    pub pdu_session_type: &'a PduSessionType,
    /// Its rate.
    pub ambr: &'a Ambr,
    /// The UE's IPv4 address.
    pub address: [u8; 4],
    /// The slice.
    pub s_nssai: Snssai,
    /// The data network.
    pub dnn: &'a Dnn,
}

/// PDU SESSION ESTABLISHMENT ACCEPT, §8.3.2: one QoS flow that matches everything, SSC mode 1.
pub fn establishment_accept(to: Header, granted: &Granted<'_>) -> Bytes {
    const SSC_MODE_1: u8 = 0x10;
    const MATCH_ALL: [u8; 11] = [0, 9, 1, 0, 6, 0x31, 0x31, 1, 1, 0xff, 1];
    let mut message = vec![SESSION_MANAGEMENT, to.pdu_session_id.0, to.pti, ESTABLISHMENT_ACCEPT];
    message.push(SSC_MODE_1 | type_code(granted.pdu_session_type));
    message.extend(MATCH_ALL);
    message.extend(session_ambr(granted.ambr));
    if *granted.pdu_session_type != PduSessionType::IPV6 {
        const IPV4: u8 = 1;
        message.extend([0x29, 5, IPV4]);
        message.extend(granted.address);
    }
    message.push(0x22);
    message.extend(with_length(&slice(granted.s_nssai)));
    message.push(0x25);
    message.extend(with_length(&labels(granted.dnn)));
    message.into()
}

/// PDU SESSION ESTABLISHMENT REJECT, §8.3.3, with 5GSM cause 31: request rejected, unspecified.
pub fn establishment_reject(to: Header) -> Bytes {
    const UNSPECIFIED: u8 = 31;
    vec![SESSION_MANAGEMENT, to.pdu_session_id.0, to.pti, ESTABLISHMENT_REJECT, UNSPECIFIED].into()
}

/// §9.11.4.11. A mock grants IPv4 for what it does not know.
fn type_code(pdu_session_type: &PduSessionType) -> u8 {
    match pdu_session_type.as_str() {
        "IPV6" => 2,
        "IPV4V6" => 3,
        "UNSTRUCTURED" => 4,
        "ETHERNET" => 5,
        _ => 1,
    }
}

/// §9.11.4.14: each rate as a multiple of the smallest unit in which it fits 16 bits.
fn session_ambr(ambr: &Ambr) -> [u8; 7] {
    const UNITS_KBPS: [u64; 10] = [1, 4, 16, 64, 256, 1_000, 4_000, 16_000, 64_000, 256_000];
    let [down, up] = [&ambr.downlink, &ambr.uplink].map(|rate| {
        let units = (1_u8..).zip(UNITS_KBPS).map(|(code, unit)| (code, rate.bps() / 1_000 / unit));
        let fitting = units.clone().find(|(_, count)| *count <= u64::from(u16::MAX));
        let (code, count) = fitting.or(units.last()).unwrap_or((1, 0));
        (code, u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes())
    });
    [6, down.0, down.1[0], down.1[1], up.0, up.1[0], up.1[1]]
}

/// §9.11.2.8.
fn slice(s_nssai: Snssai) -> Vec<u8> {
    let sd = s_nssai.sd.map(|sd| sd.value().to_be_bytes());
    sd.map_or_else(|| vec![s_nssai.sst], |sd| vec![s_nssai.sst, sd[1], sd[2], sd[3]])
}

/// TS 23.003 §9.1: each label with its length.
fn labels(dnn: &Dnn) -> Vec<u8> {
    let label = |label: &str| with_length(label.as_bytes());
    dnn.as_str().split('.').flat_map(label).collect()
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
    [&[length], &bytes[..usize::from(length)]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::BitRate;

    fn granted<'a>(dnn: &'a Dnn, ambr: &'a Ambr) -> Granted<'a> {
        let pdu_session_type = &PduSessionType::IPV4;
        Granted { pdu_session_type, ambr, address: [10, 45, 0, 2], s_nssai: Snssai::sst(1), dnn }
    }

    #[test]
    fn an_accept_repeats_session_and_procedure_and_grants_what_was_asked() {
        let request = Header::read(&establishment_request(PduSessionId(5), 9)).expect("a 5GSM message");
        assert!(request.is_establishment_request());
        let ambr = Ambr { uplink: BitRate::mbps(1_000), downlink: BitRate::mbps(50) };
        let dnn = "internet".parse().expect("a DNN");
        let accept = establishment_accept(request, &granted(&dnn, &ambr));
        let expected = [
            &[0x2e, 5, 9, 0xc2, 0x11][..],
            &[0, 9, 1, 0, 6, 0x31, 0x31, 1, 1, 0xff, 1],
            &[6, 1, 0xc3, 0x50, 3, 0xf4, 0x24],
            &[0x29, 5, 1, 10, 45, 0, 2],
            &[0x22, 1, 1],
            &[0x25, 9, 8],
            b"internet",
        ];
        assert_eq!(accept, expected.concat());
        assert!(Header::read(&accept).expect("a message").is_establishment_accept());
    }

    #[test]
    fn a_reject_repeats_them_too() {
        let request = Header::read(&establishment_request(PduSessionId(7), 3)).expect("a 5GSM message");
        let reject = establishment_reject(request);
        assert_eq!(reject, &[0x2e, 7, 3, 0xc3, 31][..]);
        assert!(Header::read(&reject).expect("a message").is_establishment_reject());
    }

    #[test]
    fn what_is_no_5gsm_message_is_none() {
        for bytes in [&b""[..], b"{}", &[0x7e, 0, 1, 2], &[0x2e, 5, 1]] {
            assert_eq!(Header::read(bytes), None);
        }
    }
}
