//! A dumb h2c server in the place of a peer: it answers what it is told to, and keeps a journal of what it received.

use super::frames::Frames;
use super::now_ms;
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response, StatusCode};
use mock5g::lab::PATIENCE;
use sbi::header::{Pair, Timing};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::timeout;

/// The server. It answers as a UDM, a UDR, an SMF or an AMF usually would, unless a rule says something else.
#[derive(Clone)]
pub struct Stub(Rc<Inner>);

struct Inner {
    root: String,
    max_streams: u32,
    rules: RefCell<Vec<Rule>>,
    journal: RefCell<Vec<Received>>,
    grown: Notify,
    made: Cell<u64>,
    connections: RefCell<Vec<AbortHandle>>,
    first: RefCell<Option<Script>>,
    closing: watch::Sender<bool>,
}

/// What a peer does on one connection; it is told the stub's root.
type Script = Box<dyn FnOnce(Frames, String) -> LocalBoxFuture<'static, ()>>;

struct Rule {
    method: &'static str,
    path: &'static str,
    reply: Reply,
    times: usize,
}

/// A request that arrived, and what became of it.
#[derive(Clone, Debug)]
pub struct Received {
    /// The connection it came on, from 0.
    pub connection: usize,
    /// The method.
    pub method: String,
    /// Host and port that it was sent to.
    pub authority: String,
    /// Path and query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// When, by the machine's clock.
    pub at_ms: i64,
    /// The status of the answer, once it was given.
    pub answered: Option<u16>,
    /// The `Location` of the answer.
    pub location: Option<String>,
    /// The code with which the client reset the stream.
    pub reset: Option<Reason>,
}

impl Received {
    /// The pair of timing headers, if it is there and well-formed.
    pub fn pair(&self) -> Option<Pair> {
        Timing::read_strict(&self.headers).pair()
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && self.path.contains(path)
    }

    fn succeeded(&self) -> bool {
        self.answered.is_some_and(|status| (200..300).contains(&status))
    }
}

/// What to answer.
#[derive(Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    after: Duration,
    gate: Option<Gate>,
    end: End,
}

#[derive(Clone, Copy)]
enum End {
    Answer,
    Silence,
    Reset(Reason),
    HangUp,
    /// The answer's head, and a body that never ends.
    HeadOnly,
}

impl Reply {
    /// A status without a body.
    pub fn status(status: u16) -> Self {
        let (headers, body) = (Vec::new(), Bytes::new());
        Reply { status, headers, body, after: Duration::ZERO, gate: None, end: End::Answer }
    }

    /// A status and JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Reply { body: body.to_string().into(), ..Reply::status(status) }
            .header("content-type", "application/json")
    }

    /// A status and a body as it is.
    pub fn text(status: u16, media_type: &str, body: &str) -> Self {
        let reply = Reply { body: Bytes::copy_from_slice(body.as_bytes()), ..Reply::status(status) };
        if media_type.is_empty() { reply } else { reply.header("content-type", media_type) }
    }

    /// An error with a cause.
    pub fn problem(status: u16, cause: &str) -> Self {
        let body = json!({"status": status, "cause": cause}).to_string().into();
        Reply { body, ..Reply::status(status) }.header("content-type", "application/problem+json")
    }

    /// No answer, ever.
    pub fn silence() -> Self {
        Reply { end: End::Silence, ..Reply::status(0) }
    }

    /// The same, but its body never ends.
    pub fn without_end(self) -> Self {
        Reply { end: End::HeadOnly, ..self }
    }

    /// RST_STREAM.
    pub fn reset(reason: Reason) -> Self {
        Reply { end: End::Reset(reason), ..Reply::status(0) }
    }

    /// The connection is closed.
    pub fn hang_up() -> Self {
        Reply { end: End::HangUp, ..Reply::status(0) }
    }

    /// The same, with a header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same, so much later.
    pub fn after_ms(self, ms: u64) -> Self {
        Reply { after: Duration::from_millis(ms), ..self }
    }

    /// The same, not before the gate is open.
    pub fn behind(self, gate: &Gate) -> Self {
        Reply { gate: Some(gate.clone()), ..self }
    }

    async fn ready(&self) {
        if let Some(gate) = &self.gate {
            gate.opened().await;
        }
        tokio::time::sleep(self.after).await;
    }
}

/// Holds answers back until it is opened.
#[derive(Clone)]
pub struct Gate(Rc<Semaphore>);

impl Gate {
    /// A closed one.
    pub fn closed() -> Self {
        Gate(Rc::new(Semaphore::new(0)))
    }

    /// Waits until it is open.
    pub async fn opened(&self) {
        let _ = self.0.acquire().await;
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.0.close();
    }
}

impl Stub {
    /// On a free port of the loopback.
    pub async fn start() -> Self {
        Stub::with_streams(100).await
    }

    /// The same, allowing so many streams at once on a connection.
    pub async fn with_streams(max_streams: u32) -> Self {
        Stub::new("127.0.0.1:0", max_streams, None).await
    }

    /// The same at this address.
    pub async fn start_at(address: &str) -> Self {
        Stub::new(address, 100, None).await
    }

    /// On its first connection it does what `script` says, frame by frame; on all others what it usually does.
    pub async fn start_with<S>(script: impl FnOnce(Frames, String) -> S + 'static) -> Self
    where
        S: Future<Output = ()> + 'static,
    {
        Stub::new("127.0.0.1:0", 100, Some(Box::new(|frames, root| Box::pin(script(frames, root))))).await
    }

    async fn new(address: &str, max_streams: u32, first: Option<Script>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let stub = Stub(Rc::new(Inner {
            root: format!("http://{}", listener.local_addr().unwrap()),
            max_streams,
            rules: RefCell::default(),
            journal: RefCell::default(),
            grown: Notify::new(),
            made: Cell::new(0),
            connections: RefCell::default(),
            first: RefCell::new(first),
            closing: watch::Sender::new(false),
        }));
        spawn_local(accept(stub.0.clone(), listener));
        stub
    }

    /// Scheme and authority.
    pub fn root(&self) -> &str {
        &self.0.root
    }

    /// Answers every `method` on a path with `path` in it so, from now on.
    pub fn on(&self, method: &'static str, path: &'static str, reply: Reply) {
        self.rule(method, path, reply, usize::MAX);
    }

    /// Answers the next one so that no earlier rule answers.
    pub fn once(&self, method: &'static str, path: &'static str, reply: Reply) {
        self.rule(method, path, reply, 1);
    }

    fn rule(&self, method: &'static str, path: &'static str, reply: Reply, times: usize) {
        self.0.rules.borrow_mut().push(Rule { method, path, reply, times });
    }

    /// Says GOAWAY on every connection and waits for their ends; new ones may be opened then.
    pub async fn close_connections(&self) {
        self.0.closing.send_replace(true);
        let closed = timeout(PATIENCE, self.0.closing.closed()).await;
        closed.expect("the clients close their connections");
        self.0.closing.send_replace(false);
    }

    /// Everything that arrived.
    pub fn journal(&self) -> Vec<Received> {
        self.0.journal.borrow().clone()
    }

    /// The methods of everything that arrived, in order.
    pub fn methods(&self) -> Vec<String> {
        self.journal().into_iter().map(|r| r.method).collect()
    }

    /// What arrived with `method` on a path with `path` in it.
    pub fn received(&self, method: &str, path: &str) -> Vec<Received> {
        self.journal().into_iter().filter(|r| r.is(method, path)).collect()
    }

    /// How many of these there were.
    pub fn count(&self, method: &str, path: &str) -> usize {
        self.received(method, path).len()
    }

    /// The first of these, once it has arrived.
    pub async fn wait(&self, method: &str, path: &str) -> Received {
        self.wait_for(&format!("{method} {path}"), |r| r.is(method, path)).await
    }

    /// The first request that `wanted` accepts; it is asked again whenever something happens to one.
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(&Received) -> bool) -> Received {
        let seen = async {
            loop {
                let grown = self.0.grown.notified();
                let found = self.0.journal.borrow().iter().find(|r| wanted(r)).cloned();
                match found {
                    Some(received) => return received,
                    None => grown.await,
                }
            }
        };
        let seen = tokio::time::timeout(PATIENCE, seen).await;
        seen.unwrap_or_else(|_| panic!("the stub saw no {what}, but {:#?}", self.journal()))
    }

    /// Everything that was made here was released here, once.
    pub fn expect_no_leak(&self) {
        let journal = self.journal();
        let made = journal.iter().filter(|r| matches!(&*r.method, "POST" | "PUT") && r.succeeded());
        for made in made {
            let location = made.location.clone().unwrap_or_else(|| format!("{}{}", self.root(), made.path));
            let path = location.strip_prefix(self.root()).unwrap();
            let ends = |r: &&Received| r.method == "DELETE" && r.path.split('?').next() == Some(path);
            let releases = journal.iter().filter(ends).filter(|r| r.succeeded()).count();
            assert_eq!(releases, 1, "releases of {path} in {journal:#?}");
        }
    }
}

async fn accept(stub: Rc<Inner>, listener: TcpListener) {
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let number = stub.connections.borrow().len();
        let served = match stub.first.take() {
            Some(script) => {
                let root = stub.root.clone();
                spawn_local(async move { script(Frames::server(socket).await, root).await })
            }
            None => spawn_local(serve(stub.clone(), socket, number)),
        };
        stub.connections.borrow_mut().push(served.abort_handle());
    }
}

async fn serve(stub: Rc<Inner>, socket: TcpStream, number: usize) {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(stub.max_streams);
    let Ok(mut connection) = builder.handshake(socket).await else { return };
    let mut closing = stub.closing.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = connection.accept() => accepted,
            Ok(_) = closing.wait_for(|closing| *closing) => {
                connection.graceful_shutdown();
                connection.accept().await
            }
        };
        let Some(Ok((request, respond))) = accepted else { return };
        spawn_local(exchange(stub.clone(), number, request, respond));
    }
}

async fn exchange(
    stub: Rc<Inner>,
    connection: usize,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    let (head, body) = request.into_parts();
    let body = collect(body).await;
    let path = head.uri.path_and_query().map_or("/", |p| p.as_str()).to_owned();
    let received = Received {
        connection,
        method: head.method.to_string(),
        authority: head.uri.authority().map(ToString::to_string).unwrap_or_default(),
        path,
        headers: head.headers,
        body,
        at_ms: now_ms(),
        answered: None,
        location: None,
        reset: None,
    };
    let reply = stub.reply(&received);
    let number = stub.enter(received);
    tokio::select! {
        reset = poll_fn(|cx| respond.poll_reset(cx)) => return stub.note(number, |r| r.reset = reset.ok()),
        () = reply.ready() => {}
    }
    match reply.end {
        End::Answer => stub.answer(number, &reply, respond),
        End::HeadOnly => {
            if let Some(mut endless) = stub.answer_head(number, &reply, &mut respond) {
                let _ = poll_fn(|cx| endless.poll_reset(cx)).await;
            }
        }
        End::Reset(reason) => respond.send_reset(reason),
        End::HangUp => stub.connections.borrow()[connection].abort(),
        End::Silence => {
            let reset = poll_fn(|cx| respond.poll_reset(cx)).await;
            stub.note(number, |r| r.reset = reset.ok());
        }
    }
}

async fn collect(mut body: RecvStream) -> Bytes {
    let mut all = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
        all.extend_from_slice(&data);
    }
    all.into()
}

impl Inner {
    fn enter(&self, received: Received) -> usize {
        self.journal.borrow_mut().push(received);
        self.grown.notify_waiters();
        self.journal.borrow().len() - 1
    }

    fn note(&self, number: usize, change: impl FnOnce(&mut Received)) {
        change(&mut self.journal.borrow_mut()[number]);
        self.grown.notify_waiters();
    }

    fn answer(&self, number: usize, reply: &Reply, mut respond: SendResponse<Bytes>) {
        if let Some(mut stream) = self.answer_head(number, reply, &mut respond)
            && !reply.body.is_empty()
        {
            let _ = stream.send_data(reply.body.clone(), true);
        }
    }

    fn answer_head(
        &self,
        number: usize,
        reply: &Reply,
        respond: &mut SendResponse<Bytes>,
    ) -> Option<SendStream<Bytes>> {
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::from_u16(reply.status).unwrap();
        for (name, value) in &reply.headers {
            head.headers_mut().append(*name, value.parse().unwrap());
        }
        let location = reply.headers.iter().find(|(name, _)| *name == "location").map(|(_, l)| l.clone());
        let ends = reply.body.is_empty() && !matches!(reply.end, End::HeadOnly);
        let stream = respond.send_response(head, ends).ok()?;
        self.note(number, |r| (r.answered, r.location) = (Some(reply.status), location));
        Some(stream)
    }

    fn reply(&self, received: &Received) -> Reply {
        let mut rules = self.rules.borrow_mut();
        match rules.iter_mut().find(|rule| rule.times > 0 && received.is(rule.method, rule.path)) {
            Some(rule) => {
                rule.times -= 1;
                rule.reply.clone()
            }
            None => self.usual(received),
        }
    }

    /// What the producer of such a resource usually answers; a registration at a UDR is never there.
    fn usual(&self, received: &Received) -> Reply {
        let path = received.path.split('?').next().unwrap_or_default();
        let is_udr = path.starts_with("/nudr-dr/");
        match &*received.method {
            "GET" if path.ends_with("/sm-data") => Reply::json(200, &json!(super::profile())),
            "GET" if path.ends_with("/sdm-subscriptions") => Reply::json(200, &json!([])),
            "GET" => Reply::problem(404, "CONTEXT_NOT_FOUND"),
            "POST"
                if ["/sdm-subscriptions", "/sm-contexts", "/subs-to-notify"]
                    .iter()
                    .any(|p| path.ends_with(p)) =>
            {
                self.made.set(self.made.get() + 1);
                let location = format!("{}{path}/{}", self.root, self.made.get());
                Reply { body: received.body.clone(), ..Reply::json(201, &Value::Null) }
                    .header("location", location)
            }
            "PUT" if !is_udr => Reply { body: received.body.clone(), ..Reply::json(201, &Value::Null) },
            _ => Reply::status(204),
        }
    }
}
