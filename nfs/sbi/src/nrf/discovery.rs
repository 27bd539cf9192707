//! Finding producers at the NRF: `Nnrf_NFDiscovery`, TS 29.510 §5.3.2.2 (Rel-17).
//!
//! An NF's producers are configured as apiRoots. One that is to be found has a stand-in: `discovered://udm`, or
//! `discovered://ID.amf` for a certain instance. The client puts the found apiRoot in its place before anything is written down
//! of a call: what was created is released where it is.

use crate::client::{Answer, Budget, Call, Client, Lane, NoAnswer, encoded};
use crate::clock::Instant;
use crate::header::{TARGET_API_ROOT, read_api_root};
use crate::party::{NfType, Party, Served};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::Mutex;
use uuid::Uuid;

/// How many searches a client remembers the results of; beyond this, the oldest are asked for anew.
pub const MAX_FOUND: usize = 256;

/// For how long a result is used at most, whatever the NRF says (our choice).
pub const MAX_VALIDITY: Duration = Duration::from_secs(300);

/// For how long if it says nothing.
const USUAL_VALIDITY: Duration = Duration::from_secs(30);

/// How long a search waits for the NRF: others may wait for it.
const SEARCH_TIMER: Duration = Duration::from_secs(2);

/// How many instances are taken from one result.
const MAX_CANDIDATES: usize = 16;

const SCHEME: &str = "discovered";

/// The stand-in for a producer of this type (`udm`) that is to be found.
pub fn discovered(nf_type: &str) -> String {
    format!("{SCHEME}://{nf_type}")
}

/// The same for one instance of it; any other apiRoot stays what it is.
pub fn at_instance(root: &str, instance: Uuid) -> String {
    match root.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix("://")) {
        Some(nf_type) => format!("{SCHEME}://{instance}.{nf_type}"),
        None => root.to_owned(),
    }
}

/// What is looked for: parameters of a search at the NRF, and the service whose place is wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Query {
    parameters: String,
    service: String,
}

impl Query {
    /// The type that is looked for, as events name it.
    pub fn target(&self) -> &str {
        let named =
            self.parameters.split('&').find_map(|parameter| parameter.strip_prefix("target-nf-type="));
        NfType::ALL.iter().find(|of| named == Some(of.as_str())).map_or("producer", |of| of.name())
    }

    /// A search with these parameters, as they are named in a query string.
    pub fn new<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>, service: &str) -> Self {
        let parameters =
            parameters.into_iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        Query { parameters: parameters.collect::<Vec<_>>().join("&"), service: service.to_owned() }
    }
}

/// What a URI asks for: which stand-in, and which of its services.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    stand_in: String,
    service: String,
}

impl Wanted {
    fn of(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?.strip_prefix("://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let service = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        Some(Wanted { stand_in: authority.to_owned(), service: service.to_owned() })
    }

    /// What an NF asks for it: parameters of a search, or of a delegated discovery.
    fn parameters(&self, party: &Party) -> Vec<(&'static str, String)> {
        let (nf_type, instance) = match self.stand_in.rsplit_once('.') {
            Some((instance, nf_type)) => (nf_type, Some(instance)),
            None => (&*self.stand_in, None),
        };
        let mut parameters = vec![
            ("target-nf-type", nf_type.to_ascii_uppercase()),
            ("requester-nf-type", party.nf_type.to_string()),
            ("requester-nf-instance-id", party.instance_id.to_string()),
            ("service-names", self.service.clone()),
        ];
        parameters.extend(instance.map(|id| ("target-nf-instance-id", id.to_owned())));
        parameters
    }
}

/// Whether a URI is that of `target`, or may be: a stand-in has the same path wherever its producer is.
pub(crate) fn is_at(uri: &str, target: &str) -> bool {
    uri == target || is_stand_in(target) && in_body(target) == path_of(uri)
}

/// A URI as it is said to another NF: without its stand-in, which means nothing there.
pub fn in_body(uri: &str) -> &str {
    if is_stand_in(uri) { path_of(uri) } else { uri }
}

fn path_of(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.find('/').map_or("", |at| &rest[at..])
}

/// Whether a URI has a stand-in.
pub(crate) fn is_stand_in(uri: &str) -> bool {
    Wanted::of(uri).is_some()
}

/// Where a URI with a stand-in is after all, if the SCP that has chosen its producer says so.
pub(crate) fn chosen(uri: &str, answer: &Answer) -> Option<Located> {
    let wanted = Wanted::of(uri)?;
    let root = read_api_root(answer.headers.get(TARGET_API_ROOT)?).ok()?;
    Some(Located { stand_in: format!("{SCHEME}://{}", wanted.stand_in), root })
}

/// What an NF says to an SCP so that it finds the producer of a URI with a stand-in; nothing if it has none.
pub(crate) fn delegated(uri: &str, party: &Party) -> Option<Vec<(&'static str, String)>> {
    Wanted::of(uri).map(|wanted| wanted.parameters(party))
}

/// A producer that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Producer {
    /// The apiRoot of the service that was looked for.
    pub root: String,
    /// The NF instance.
    pub instance: Option<String>,
}

/// Why no producer was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// This NF was given no NRF.
    #[error("this NF was given no NRF to find it at")]
    NoNrf,
    /// The NRF does not answer, or not with what can be read.
    #[error("the NRF {0}")]
    Silent(String),
    /// The NRF finds fault with the search.
    #[error("the NRF refuses to look for it: {0}")]
    Refused(String),
    /// The NRF knows nobody.
    #[error("the NRF knows no such producer")]
    Nobody,
}

/// Where a stand-in leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    stand_in: String,
    root: String,
}

impl Located {
    /// Whether a URI is at the producer.
    pub(crate) fn is_at(&self, uri: &str) -> bool {
        uri.strip_prefix(&self.root).is_some_and(|rest| rest.starts_with('/'))
    }

    /// A URI with the apiRoot in place of the stand-in.
    pub(crate) fn apply(&self, uri: &str) -> String {
        match uri.strip_prefix(&self.stand_in) {
            Some(path) => format!("{}{path}", self.root),
            None => uri.to_owned(),
        }
    }
}

/// What a client has found.
#[derive(Default)]
pub(crate) struct Discovery {
    found: RefCell<Found>,
    /// Searches under way: whoever looks for the same waits for the first.
    asking: RefCell<BTreeMap<Query, Weak<Mutex<()>>>>,
}

#[derive(Default)]
struct Found {
    results: BTreeMap<Query, Candidates>,
    order: VecDeque<Query>,
}

struct Candidates {
    /// The best first.
    producers: Vec<Producer>,
    until: Instant,
}

impl Found {
    fn get(&self, query: &Query, now: Instant) -> Option<Vec<Producer>> {
        let candidates = self.results.get(query).filter(|candidates| now < candidates.until)?;
        Some(candidates.producers.clone()).filter(|producers| !producers.is_empty())
    }

    fn put(&mut self, query: Query, candidates: Candidates) {
        if self.results.insert(query.clone(), candidates).is_none() {
            self.order.push_back(query);
        }
        while self.order.len() > MAX_FOUND {
            self.order.pop_front().iter().for_each(|oldest| drop(self.results.remove(oldest)));
        }
    }

    /// A producer cannot be reached: the next one is taken, or the NRF asked anew.
    fn pass_over(&mut self, authority: &str) {
        for candidates in self.results.values_mut() {
            let is_it =
                |root: &str| root.split_once("://").is_some_and(|(_, rest)| host_of(rest) == authority);
            candidates.producers.retain(|producer| !is_it(&producer.root));
        }
    }
}

fn host_of(rest: &str) -> &str {
    rest.split('/').next().unwrap_or(rest)
}

impl Discovery {
    /// The turn of a search: gone with the last who waits for it.
    fn search_of(&self, query: &Query) -> Rc<Mutex<()>> {
        let mut asking = self.asking.borrow_mut();
        if let Some(turn) = asking.get(query).and_then(Weak::upgrade) {
            return turn;
        }
        if asking.len() >= MAX_FOUND {
            asking.retain(|_, turn| turn.strong_count() > 0);
        }
        let turn = Rc::default();
        asking.insert(query.clone(), Rc::downgrade(&turn));
        turn
    }

    pub(crate) fn pass_over(&self, authority: &str) {
        self.found.borrow_mut().pass_over(authority);
    }
}

impl Client {
    /// Where the producer is that a URI has a stand-in for; nothing if it has none.
    pub(crate) async fn locate(
        &self,
        served: &Served,
        uri: &str,
        budget: &Budget,
    ) -> Result<Option<Located>, NoAnswer> {
        let Some(wanted) = Wanted::of(uri) else { return Ok(None) };
        let parameters = wanted.parameters(self.party());
        let query = Query::new(parameters.iter().map(|(name, value)| (*name, &**value)), &wanted.service);
        let found = self.discover(served, &query, budget).await;
        let missing =
            |why: NotFound| NoAnswer::NotSent(format!("{why}: {} with {}", wanted.stand_in, wanted.service));
        let root = found.map_err(missing)?.swap_remove(0).root;
        Ok(Some(Located { stand_in: format!("{SCHEME}://{}", wanted.stand_in), root }))
    }

    /// The producers that a search finds, the best first; one at least. What was found is remembered for its validity.
    pub async fn discover(
        &self,
        served: &Served,
        query: &Query,
        budget: &Budget,
    ) -> Result<Vec<Producer>, NotFound> {
        let found = tokio::time::timeout_at(budget.until(), self.find(served, query, budget)).await;
        found.unwrap_or_else(|_| Err(NotFound::Silent("did not answer in time".into())))
    }

    async fn find(&self, served: &Served, query: &Query, budget: &Budget) -> Result<Vec<Producer>, NotFound> {
        let known = || self.discovery().found.borrow().get(query, self.env().clock.now());
        if let Some(producers) = known() {
            return Ok(producers);
        }
        // Whoever asks at the same time takes what the first one finds.
        let asking = self.discovery().search_of(query);
        let _one_at_a_time = asking.lock().await;
        if let Some(producers) = known() {
            return Ok(producers);
        }
        let search = tokio::time::timeout(SEARCH_TIMER, self.search(served, query, budget)).await;
        let candidates = search.unwrap_or_else(|_| Err(NotFound::Silent("did not answer in time".into())))?;
        let producers = candidates.producers.clone();
        self.discovery().found.borrow_mut().put(query.clone(), candidates);
        if producers.is_empty() { Err(NotFound::Nobody) } else { Ok(producers) }
    }

    async fn search(&self, served: &Served, query: &Query, budget: &Budget) -> Result<Candidates, NotFound> {
        let nrf = self.party().nrf.as_ref().ok_or(NotFound::NoNrf)?.root();
        let uri = format!("{nrf}/nnrf-disc/v1/nf-instances?{}", query.parameters);
        let answer = self.exchange(served, Call::get(uri), Lane::Calls, budget).await;
        let silent = |why: String| NotFound::Silent(format!("at {nrf} {why}"));
        let answer = answer.map_err(|why| silent(format!("cannot be asked: {why}")))?;
        match answer.status.as_u16() {
            200..=299 => {}
            404 => return Err(NotFound::Nobody),
            400 | 403 => return Err(NotFound::Refused(answer.problem().told().unwrap_or_default())),
            status => return Err(silent(format!("answers {status}"))),
        }
        let result: Value = answer.json().ok_or_else(|| silent("answers with no JSON".into()))?;
        let validity = result.get("validityPeriod").and_then(Value::as_u64).map(Duration::from_secs);
        let until = self.env().clock.now() + validity.unwrap_or(USUAL_VALIDITY).min(MAX_VALIDITY);
        let producers = producers_of(&result, &query.service);
        for producer in &producers {
            self.party().env.directory.add_found(&producer.root, query.target());
        }
        Ok(Candidates { producers, until })
    }
}

/// The instances of a search result that have a service, the best first.
fn producers_of(result: &Value, service: &str) -> Vec<Producer> {
    let instances = result.get("nfInstances").and_then(Value::as_array);
    let mut found: Vec<_> =
        instances.into_iter().flatten().flat_map(|profile| producers_of_profile(profile, service)).collect();
    found.sort_by_key(|(priority, _)| *priority);
    let mut producers: Vec<Producer> = Vec::new();
    for (_, producer) in found {
        if producers.len() < MAX_CANDIDATES && producers.iter().all(|other| other.root != producer.root) {
            producers.push(producer);
        }
    }
    producers
}

fn producers_of_profile<'a>(
    profile: &'a Value,
    wanted: &'a str,
) -> impl Iterator<Item = (u64, Producer)> + 'a {
    let listed = profile.get("nfServices").and_then(Value::as_array).into_iter().flatten();
    let mapped =
        profile.get("nfServiceList").and_then(Value::as_object).into_iter().flat_map(|map| map.values());
    let is_wanted = move |service: &&Value| {
        let said = |name: &str| service.get(name).and_then(Value::as_str);
        said("serviceName") == Some(wanted)
            && said("nfServiceStatus").is_none_or(|status| status == "REGISTERED")
    };
    listed.chain(mapped).filter(is_wanted).filter_map(move |service| {
        let priority = [service, profile].iter().find_map(|of| of.get("priority")?.as_u64());
        let instance = profile.get("nfInstanceId").and_then(Value::as_str).map(str::to_owned);
        let root = root_of_service(profile, service).filter(|root| root.starts_with("http://"))?;
        let producer = Producer { root, instance };
        Some((priority.unwrap_or(u64::from(u16::MAX)), producer))
    })
}

/// TS 29.510 §6.1.6.2.3 (Rel-17): a service is where it says itself, else where its instance is.
fn root_of_service(profile: &Value, service: &Value) -> Option<String> {
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let first = |of: &Value, name: &str| of.get(name)?.get(0)?.as_str().map(str::to_owned);
    let v6 = |address: String| format!("[{address}]");
    let scheme = text(service, "scheme").unwrap_or_else(|| "http".into());
    let end_point = service.get("ipEndPoints").and_then(|list| list.get(0));
    let address =
        end_point.and_then(|at| text(at, "ipv4Address").or_else(|| text(at, "ipv6Address").map(v6)));
    let host = address
        .or_else(|| text(service, "fqdn"))
        .or_else(|| first(profile, "ipv4Addresses"))
        .or_else(|| first(profile, "ipv6Addresses").map(v6))
        .or_else(|| text(profile, "fqdn"))?;
    // Without a port it is the same place: one place has one name.
    let usual = if scheme == "https" { 443 } else { 80 };
    let port = end_point.and_then(|at| at.get("port")?.as_u64()).filter(|port| *port != usual);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let prefix = text(service, "apiPrefix").unwrap_or_default();
    let prefix = prefix.trim_matches('/');
    let slash = if prefix.is_empty() { "" } else { "/" };
    Some(format!("{scheme}://{host}{port}{slash}{prefix}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_service_is_where_it_says_else_where_its_instance_is() {
        let service = |more: Value| {
            let mut service = json!({"serviceName": "nudm-sdm", "scheme": "http"});
            service.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            service
        };
        let profile = json!({"ipv4Addresses": ["10.0.0.9"], "fqdn": "udm.lab"});
        for (more, root) in [
            (json!({"ipEndPoints": [{"ipv4Address": "10.0.0.1", "port": 7777}]}), "http://10.0.0.1:7777"),
            (
                json!({"ipEndPoints": [{"ipv6Address": "::1", "port": 80}], "apiPrefix": "/a/"}),
                "http://[::1]/a",
            ),
            (json!({"ipEndPoints": [{"port": 90}]}), "http://10.0.0.9:90"),
            (json!({"fqdn": "sdm.lab", "scheme": "https"}), "https://sdm.lab"),
            (json!({}), "http://10.0.0.9"),
        ] {
            assert_eq!(root_of_service(&profile, &service(more.clone())).as_deref(), Some(root), "{more}");
        }
        assert_eq!(root_of_service(&json!({}), &service(json!({}))), None);
    }

    #[test]
    fn the_best_comes_first_in_both_forms_and_what_is_suspended_not_at_all() {
        let at = |port: u16, more: Value| {
            let mut service = json!({
                "serviceName": "nudm-sdm", "scheme": "http", "ipEndPoints": [{"ipv4Address": "10.0.0.1", "port": port}],
            });
            service.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            service
        };
        let result = json!({"nfInstances": [
            {"priority": 9, "nfServices": [at(1, json!({})), at(2, json!({"priority": 1}))]},
            {"priority": 5, "nfServiceList": {"x": at(3, json!({})), "y": at(4, json!({"nfServiceStatus": "SUSPENDED"}))}},
            {"nfServices": [at(5, json!({})), at(3, json!({})), {"serviceName": "nudm-uecm"}]},
        ]});
        let port = |producer: &Producer| producer.root.rsplit(':').next().unwrap_or("").to_owned();
        let ports: Vec<_> = producers_of(&result, "nudm-sdm").iter().map(port).collect();
        assert_eq!(ports, ["2", "3", "1", "5"]);
        assert!(producers_of(&json!({"nfInstances": 7}), "nudm-sdm").is_empty());
    }

    #[test]
    fn a_stand_in_says_what_is_wanted() {
        let wanted = Wanted::of("discovered://udm/nudm-sdm/v2/imsi-1?x=/").expect("a stand-in");
        assert_eq!((&*wanted.stand_in, &*wanted.service), ("udm", "nudm-sdm"));
        let amf = at_instance(&discovered("amf"), Uuid::nil());
        let wanted = Wanted::of(&format!("{amf}/namf-comm/v1")).expect("a stand-in");
        assert_eq!(wanted.stand_in, format!("{}.amf", Uuid::nil()));
        assert_eq!(at_instance("http://amf", Uuid::nil()), "http://amf");
        assert_eq!(Wanted::of("http://udm/nudm-sdm/v2"), None);
        let located = Located { stand_in: "discovered://udm".into(), root: "http://10.0.0.1:80/a".into() };
        assert_eq!(located.apply("discovered://udm/nudm-sdm"), "http://10.0.0.1:80/a/nudm-sdm");
        assert_eq!(located.apply("http://other/x"), "http://other/x");
    }

    #[test]
    fn who_cannot_be_reached_is_passed_over() {
        let (mut found, now) = (Found::default(), tokio::time::Instant::now());
        let query = Query::new([("target-nf-type", "UDM"), ("snssais", "[{}]")], "nudm-sdm");
        assert_eq!(query.parameters, "target-nf-type=UDM&snssais=%5B%7B%7D%5D");
        let producer = |root: &str| Producer { root: root.into(), instance: None };
        let producers = vec![producer("http://a:1"), producer("http://b/x")];
        found.put(query.clone(), Candidates { producers, until: now + USUAL_VALIDITY });
        let best = |found: &Found, now| found.get(&query, now).map(|mut all| all.swap_remove(0).root);
        assert_eq!(best(&found, now).as_deref(), Some("http://a:1"));
        found.pass_over("a:1");
        assert_eq!(best(&found, now).as_deref(), Some("http://b/x"));
        assert_eq!(best(&found, now + USUAL_VALIDITY), None, "it is to be asked for anew");
        found.pass_over("b");
        assert_eq!(best(&found, now), None);
    }
}
