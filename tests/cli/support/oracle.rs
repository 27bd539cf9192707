//! What a process received and sent, as its operator plane shows it.

use super::Protocol;
use super::http::try_request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use sbi::event::{RequestId, TraceId};
use sbi::traffic::{Content, Direction, Exchange};
use serde_json::Value;

/// The exchanges that the operator plane at `admin` still knows; none if the process is gone.
pub fn exchanges(admin: &str) -> Vec<Exchange> {
    let answer = try_request(Protocol::H2c, "GET", &format!("{admin}/mock5g/v1/requests"), "", b"");
    let shown: Value = answer.map(|answer| answer.json()).unwrap_or_default();
    shown.as_array().into_iter().flatten().map(exchange).collect()
}

fn exchange(shown: &Value) -> Exchange {
    let text = |key: &str| shown[key].as_str().unwrap_or_default().to_owned();
    let direction = if shown["direction"] == "sent" { Direction::Sent } else { Direction::Received };
    let status = |answer: &Value| StatusCode::from_u16(answer["status"].as_u64().unwrap() as u16).unwrap();
    Exchange {
        unix_us: 0,
        nf: text("nf").into(),
        direction,
        served: RequestId(0),
        trace: TraceId(0),
        peer: text("peer"),
        method: Method::from_bytes(text("method").as_bytes()).unwrap(),
        uri: text("uri"),
        request: content(shown),
        answer: shown.get("response").map(|answer| (status(answer), content(answer))),
        faulted: shown["faulted"] == true,
    }
}

fn content(shown: &Value) -> Content {
    let mut headers = HeaderMap::new();
    for header in shown["headers"].as_array().into_iter().flatten() {
        let name = HeaderName::from_bytes(header[0].as_str().unwrap().as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_str(header[1].as_str().unwrap()).unwrap());
    }
    let body = match &shown["body"] {
        Value::Null => Bytes::new(),
        Value::String(text) => text.clone().into(),
        body => match body["base64"].as_str() {
            Some(bytes) => STANDARD.decode(bytes).unwrap().into(),
            None => body.to_string().into(),
        },
    };
    Content { headers, body, cut: shown["bodyCut"] == true }
}
