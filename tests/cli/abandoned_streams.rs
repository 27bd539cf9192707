//! 40 000 requests that their clients abandon, at an SCP: it carries each as far as it has to, forgets it, and serves the others
//! meanwhile.

use super::support::{NfProcess, PATIENCE, wait_until};
use bytes::Bytes;
use h2::{Reason, RecvStream};
use http::{Method, Request, Response};
use sbi::header::{MaxRspTime, Pair, SenderTimestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::{TcpListener, TcpStream};

const ABANDONED: usize = 40_000;

/// How many of them a connection has, all at once.
const EACH: usize = 99;

/// How many connections there are at once.
const AT_ONCE: usize = 4;

/// How long their clients say they wait; longer than they stay.
const WAIT_MS: u64 = 150;

/// How long the producer takes for them: for longer than anybody waits.
const SLOW: Duration = Duration::from_millis(200);

/// How long a client stays: until a request of it that may take so long is answered.
const STAY_MS: u64 = 50;

/// How long a client waits that wants its answer.
const POLITE_MS: u64 = 20_000;

/// How much more memory the SCP may have afterwards, in MiB: its newest events and requests are kept (65 536 and 1 000).
const MAX_GROWTH_MIB: usize = 160;

#[test]
fn abandoned_streams_leave_nothing_behind_and_disturb_nobody() {
    let scp = NfProcess::start("scp", &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let target = runtime.block_on(Target::start());
    let (memory, sockets) = (resident_mib(&scp), scp.sockets());
    let load = async {
        let over = AtomicBool::new(false);
        let abandon = async {
            let begun = AtomicUsize::new(0);
            let clients = (0..AT_ONCE).map(async |_| {
                while begun.load(SeqCst) < ABANDONED {
                    let n = begun.fetch_add(EACH, SeqCst) / EACH;
                    abandon(scp.sbi(), &target.root, n).await.unwrap();
                }
            });
            futures_util::future::join_all(clients).await;
            over.store(true, SeqCst);
        };
        tokio::join!(abandon, polite(scp.sbi(), &target.root, &over)).1
    };
    let answered = runtime.block_on(async { tokio::time::timeout(PATIENCE, load).await.unwrap().unwrap() });
    assert!(answered > 100, "{answered} answers beside {ABANDONED} abandoned streams");
    let nothing_left = async {
        while target.streams.load(SeqCst) > 0 || scp.sockets() > sockets + target.connections.load(SeqCst) {
            tokio::task::yield_now().await;
        }
    };
    let nothing_left = runtime.block_on(async { tokio::time::timeout(PATIENCE, nothing_left).await });
    assert!(
        nothing_left.is_ok(),
        "{} streams at the producer, {} sockets",
        target.streams.load(SeqCst),
        scp.sockets()
    );
    let grown = resident_mib(&scp).saturating_sub(memory);
    println!("{answered} polite answers; {grown} MiB more after {ABANDONED} abandoned streams");
    assert!(grown < MAX_GROWTH_MIB, "{grown} MiB more");
    assert_eq!(scp.events("request.panicked"), 0);
    assert!(scp.events("client.gone") > ABANDONED / 4, "{}", scp.events("client.gone"));
    drop(runtime);
    wait_until("the connections to the producer are closed", || scp.sockets() <= sockets);
    assert_eq!(scp.stop("TERM").code, Some(0));
}

/// How clients leave: they reset their streams, at once or later, or hang up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ResetAtOnce,
    Reset,
    HangUp,
}

/// One connection whose requests are abandoned: half of them creates, some of which have not sent all of their body.
async fn abandon(scp: &str, target: &str, n: usize) -> Result<(), h2::Error> {
    let way = [Way::ResetAtOnce, Way::Reset, Way::HangUp][n % 3];
    let (mut client, connection) = h2::client::handshake(connect(scp).await).await?;
    let driver = tokio::spawn(connection);
    let mut streams = Vec::new();
    for k in 0..EACH {
        client = client.ready().await?;
        let (method, is_whole) = if k % 2 == 0 { (Method::GET, true) } else { (Method::POST, k % 4 == 1) };
        let request = request(scp, target, method, &format!("/nudm-sdm/v2/slow/{n}/{k}"), WAIT_MS);
        let (answer, mut stream) = client.send_request(request, is_whole)?;
        if !is_whole {
            stream.send_data(Bytes::from_static(b"{"), false)?;
        }
        if way == Way::ResetAtOnce {
            stream.send_reset(Reason::CANCEL);
        }
        streams.push((answer, stream));
    }
    client = client.ready().await?;
    let (answer, _) =
        client.send_request(request(scp, target, Method::GET, "/nudm-sdm/v2/slow", STAY_MS), true)?;
    assert_eq!(answer.await?.status(), 504);
    match way {
        Way::HangUp => driver.abort(),
        Way::Reset => streams.iter_mut().for_each(|(_, stream)| stream.send_reset(Reason::CANCEL)),
        Way::ResetAtOnce => {}
    }
    drop((streams, client));
    let _ = driver.await;
    Ok(())
}

/// One request after the other, each with its answer, until it is over: how many.
async fn polite(scp: &str, target: &str, over: &AtomicBool) -> Result<usize, h2::Error> {
    let (mut client, connection) = h2::client::handshake(connect(scp).await).await?;
    tokio::spawn(connection);
    let mut answered = 0;
    while !over.load(SeqCst) {
        let path = format!("/nudm-sdm/v2/imsi-{answered}/am-data");
        client = client.ready().await?;
        let (answer, _) = client.send_request(request(scp, target, Method::GET, &path, POLITE_MS), true)?;
        let (head, body) = answer.await?.into_parts();
        let body = whole(body).await?;
        assert_eq!((head.status.as_u16(), &body[..]), (200, path.as_bytes()), "after {answered}: {head:?}");
        answered += 1;
    }
    Ok(answered)
}

async fn connect(root: &str) -> TcpStream {
    let socket = TcpStream::connect(root.trim_start_matches("http://")).await.unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

fn request(scp: &str, target: &str, method: Method, path: &str, wait_ms: u64) -> Request<()> {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let stamp = SenderTimestamp::from_unix_ms(now_ms.try_into().unwrap());
    let head = Request::builder().method(method).uri(format!("{scp}{path}"));
    let mut request = head.header("3gpp-sbi-target-apiroot", target).body(()).unwrap();
    Pair::new(stamp, MaxRspTime::from_ms(wait_ms).unwrap()).write(request.headers_mut());
    request
}

async fn whole(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut all = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        all.extend_from_slice(&data);
    }
    Ok(all)
}

/// A producer that answers with the path that it was asked for, slowly if `slow` is in it.
struct Target {
    root: String,
    streams: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

/// Counted as long as it is there.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Target {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let root = format!("http://{}", listener.local_addr().unwrap());
        let (streams, connections) = (Arc::default(), Arc::default());
        let target = Target { root, streams, connections };
        let (streams, connections) = (target.streams.clone(), target.connections.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, streams.clone(), Counted::new(&connections)));
            }
        });
        target
    }
}

async fn serve(socket: TcpStream, streams: Arc<AtomicUsize>, _connection: Counted) {
    let _ = socket.set_nodelay(true);
    // As our NFs: a library's usual 20 would end the connection for all whose requests are on it.
    let mut builder = h2::server::Builder::new();
    builder.max_pending_accept_reset_streams(sbi::server::MAX_PENDING_RESETS);
    let Ok(mut connection) = builder.handshake(socket).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(answer(request, respond, Counted::new(&streams)));
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
    _stream: Counted,
) {
    let path = request.uri().path().to_owned();
    if path.contains("/slow") {
        tokio::select! {
            _ = std::future::poll_fn(|cx| respond.poll_reset(cx)) => return,
            () = tokio::time::sleep(SLOW) => {}
        }
    }
    if let Ok(mut stream) = respond.send_response(Response::new(()), false) {
        let _ = stream.send_data(path.into(), true);
    }
}

/// What the process has in memory.
fn resident_mib(nf: &NfProcess) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", nf.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}
