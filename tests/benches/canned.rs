//! A UDM that answers from memory and keeps nothing.

use api::common::Snssai;
use api::nudm_sdm::default_sm_data;
use bytes::Bytes;
use h2::server::SendResponse;
use http::{Method, Request, Response};
use mock5g::subscribers::dnn;
use std::cell::Cell;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

/// The UDM, on a thread of its own.
pub struct Canned {
    /// Scheme and authority.
    pub root: String,
}

impl Canned {
    /// On a free port of the loopback, for as long as the process lives.
    pub fn start() -> Canned {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let root = format!("http://{}", listener.local_addr().expect("a bound listener"));
        let of_thread = root.clone();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            LocalSet::new().block_on(&runtime, async move {
                let listener = TcpListener::from_std(listener).expect("a listener");
                while let Ok((socket, _)) = listener.accept().await {
                    let _ = socket.set_nodelay(true);
                    spawn_local(serve(socket, of_thread.clone()));
                }
            });
        });
        Canned { root }
    }
}

async fn serve(socket: TcpStream, root: String) {
    let sm_data = default_sm_data([(Snssai::sst(1), vec![dnn("internet")])]);
    let sm_data = Bytes::from(serde_json::to_vec(&sm_data).expect("JSON"));
    let made = Cell::new(0_u64);
    let Ok(mut connection) = h2::server::handshake(socket).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        made.set(made.get() + 1);
        let id = format!("{:08x}-0000-4000-8000-000000000000", made.get());
        spawn_local(exchange(request, respond, (root.clone(), id), sm_data.clone()));
    }
}

async fn exchange(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    (root, id): (String, String),
    sm_data: Bytes,
) {
    let (head, mut body) = request.into_parts();
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
    }
    let answer = Response::builder();
    let (answer, body) = match head.method {
        Method::GET => (answer.status(200).header("content-type", "application/json"), sm_data),
        Method::POST => {
            let location = format!("{root}{}/{id}", head.uri.path());
            (answer.status(201).header("location", location), Bytes::new())
        }
        Method::PUT => (answer.status(201), Bytes::new()),
        _ => (answer.status(204), Bytes::new()),
    };
    let answer = answer.body(()).expect("a head");
    if let Ok(mut stream) = respond.send_response(answer, body.is_empty())
        && !body.is_empty()
    {
        let _ = stream.send_data(body, true);
    }
}
