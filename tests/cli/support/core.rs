//! Four NFs, each in a process of its own, and what an AMF asks of them.

use super::NfProcess;
use serde_json::{Value, json};

/// A subscriber that UDM and UDR know.
pub const SUPI: &str = "imsi-001010000000001";

/// UDR, UDM, SMF and AMF, each wired to its producer by `--peer`.
pub struct Core {
    pub udr: NfProcess,
    pub udm: NfProcess,
    pub smf: NfProcess,
    pub amf: NfProcess,
}

impl Core {
    /// Starts them.
    pub fn start() -> Self {
        let udr = NfProcess::start("udr", &[]);
        let udm = NfProcess::start("udm", &["--peer", &format!("udr={}", udr.sbi())]);
        let smf = NfProcess::start("smf", &["--peer", &format!("udm={}", udm.sbi())]);
        let amf = NfProcess::start(
            "amf",
            &["--peer", &format!("smf={}", smf.sbi()), "--peer", &format!("udm={}", udm.sbi())],
        );
        Core { udr, udm, smf, amf }
    }

    /// All of them.
    pub fn all(&self) -> [&NfProcess; 4] {
        [&self.udr, &self.udm, &self.smf, &self.amf]
    }

    /// Where SM contexts are created.
    pub fn sm_contexts(&self) -> String {
        format!("{}/nsmf-pdusession/v1/sm-contexts", self.smf.sbi())
    }
}

/// An `SmContextCreateData` of an AMF at `amf`.
pub fn create_data(amf: &str) -> Value {
    json!({
        "supi": SUPI, "pduSessionId": 5, "dnn": "internet", "sNssai": {"sst": 1},
        "servingNfId": "11111111-1111-4111-8111-111111111111",
        "servingNetwork": {"mcc": "001", "mnc": "01"},
        "anType": "3GPP_ACCESS", "requestType": "INITIAL_REQUEST",
        "smContextStatusUri": format!("{amf}/namf-callback/v1/sm-context-status/{SUPI}/5"),
    })
}

/// Content type and body of a creation as plain JSON.
pub fn json_create(amf: &str) -> (String, Vec<u8>) {
    ("application/json".into(), create_data(amf).to_string().into_bytes())
}

/// The same as TS 29.502 §6.1.2.4 (Rel-17) wants it: multipart/related, with an N1 SM part.
pub fn multipart_create(amf: &str) -> (String, Vec<u8>) {
    const ESTABLISHMENT_REQUEST: &[u8] = &[0x2e, 0x05, 0x01, 0xc1, 0xff, 0xff];
    let mut data = create_data(amf);
    data["n1SmMsg"] = json!({"contentId": "n1-sm"});
    let head = format!("--part\r\nContent-Type: application/json\r\n\r\n{data}\r\n");
    let n1 = "--part\r\nContent-Type: application/vnd.3gpp.5gnas\r\nContent-Id: n1-sm\r\n\r\n";
    let body = [head.as_bytes(), n1.as_bytes(), ESTABLISHMENT_REQUEST, b"\r\n--part--\r\n"].concat();
    ("multipart/related; boundary=part".into(), body)
}
