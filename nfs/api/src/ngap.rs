//! NGAP transfers of a PDU session's resources between SMF and gNB, in aligned PER: TS 38.413 §9.3.4 (Rel-17).

use crate::common::{Ambr, PduSessionType};
use bytes::Bytes;

/// The media type of a transfer in a multipart body.
pub const NGAP: &str = "application/vnd.3gpp.ngap";

const SESSION_AMBR: u16 = 130;
const PDU_SESSION_TYPE: u16 = 134;
const QOS_FLOWS_TO_SET_UP: u16 = 136;
const UPLINK_TUNNEL: u16 = 139;

/// Where the other end of a GTP-U tunnel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Its IPv4 address.
    pub address: [u8; 4],
    /// Its tunnel endpoint id.
    pub teid: u32,
}

/// PDU Session Resource Setup Request Transfer, §9.3.4.1: one non-GBR flow with 5QI 9.
pub fn setup_request(ambr: &Ambr, tunnel: Tunnel, pdu_session_type: &PduSessionType) -> Bytes {
    const ONE_FLOW_5QI_9: [u8; 7] = [0, 1, 0, 0, 9, 0x1c, 0];
    const IES: [u8; 3] = [0, 0, 4];
    let whole = [
        IES.to_vec(),
        ie(SESSION_AMBR, &bit_rates(ambr)),
        ie(UPLINK_TUNNEL, &[&[1, 0xf0][..], &tunnel_bytes(tunnel)].concat()),
        ie(PDU_SESSION_TYPE, &[type_code(pdu_session_type) << 4]),
        ie(QOS_FLOWS_TO_SET_UP, &ONE_FLOW_5QI_9),
    ];
    whole.concat().into()
}

/// PDU Session Resource Setup Response Transfer, §9.3.4.2: the gNB's end of the tunnel, flow 1.
pub fn setup_response(tunnel: Tunnel) -> Bytes {
    [&[0, 3, 0xe0][..], &tunnel_bytes(tunnel), &[0, 1]].concat().into()
}

/// An IE whose criticality is reject.
fn ie(id: u16, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).unwrap_or(u8::MAX);
    [&id.to_be_bytes()[..], &[0, length], value].concat()
}

fn tunnel_bytes(tunnel: Tunnel) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (tunnel.address, tunnel.teid.to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

fn type_code(pdu_session_type: &PduSessionType) -> u8 {
    match pdu_session_type.as_str() {
        "IPV6" => 1,
        "IPV4V6" => 2,
        "ETHERNET" => 3,
        "UNSTRUCTURED" => 4,
        _ => 0,
    }
}

/// Downlink and uplink: each preceded by its length less one, in three bits after its own bits of the sequence.
fn bit_rates(ambr: &Ambr) -> Vec<u8> {
    const AFTER_SEQUENCE: u32 = 2;
    const AFTER_NOTHING: u32 = 4;
    let rate = |bps: u64, shift: u32| {
        let bytes = bps.to_be_bytes();
        let value = &bytes[bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1)..];
        let length = u8::try_from(value.len() - 1).unwrap_or(0);
        [&[length << shift], value].concat()
    };
    [rate(ambr.downlink.bps(), AFTER_SEQUENCE), rate(ambr.uplink.bps(), AFTER_NOTHING)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::BitRate;

    #[test]
    fn a_request_has_the_bytes_that_a_gnb_reads() {
        let ambr = Ambr { uplink: BitRate::mbps(1_000), downlink: BitRate::mbps(1_000) };
        let tunnel = Tunnel { address: [127, 0, 0, 7], teid: 0x412 };
        let expected = [
            &[0, 0, 4, 0, 130, 0, 10, 0x0c, 0x3b, 0x9a, 0xca, 0, 0x30, 0x3b, 0x9a, 0xca, 0][..],
            &[0, 139, 0, 10, 1, 0xf0, 127, 0, 0, 7, 0, 0, 4, 0x12],
            &[0, 134, 0, 1, 0x20],
            &[0, 136, 0, 7, 0, 1, 0, 0, 9, 0x1c, 0],
        ];
        assert_eq!(setup_request(&ambr, tunnel, &PduSessionType::IPV4V6), expected.concat());
    }

    #[test]
    fn a_response_names_the_tunnel_and_the_flow() {
        let tunnel = Tunnel { address: [127, 0, 0, 2], teid: 1 };
        assert_eq!(setup_response(tunnel), &[0, 3, 0xe0, 127, 0, 0, 2, 0, 0, 0, 1, 0, 1][..]);
    }
}
