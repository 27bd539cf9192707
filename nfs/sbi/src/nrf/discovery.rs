//! Finding producers at the NRF: `Nnrf_NFDiscovery`, TS 29.510 §5.3.2.2 (Rel-17).
//!
//! An NF's producers are configured as apiRoots. One that is to be found has a stand-in: `discovered://udm`, or
//! `discovered://ID.amf` for a certain instance. The client puts the found apiRoot in its place before anything is written down
//! of a call: what was created is released where it is.

use crate::client::{Budget, Call, Client, Lane, NoAnswer};
use crate::clock::Instant;
use crate::party::Served;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::Mutex;
use uuid::Uuid;

/// How many searches a client remembers the results of; beyond this, the oldest are asked for anew.
pub const MAX_FOUND: usize = 256;

/// For how long a result is used at most, whatever the NRF says (our choice).
pub const MAX_VALIDITY: Duration = Duration::from_secs(300);

/// For how long if it says nothing.
const USUAL_VALIDITY: Duration = Duration::from_secs(30);

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

/// What a URI asks for: which stand-in, and which of its services.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    /// The type, and the instance if it is a certain one.
    fn target(&self) -> (&str, Option<&str>) {
        match self.stand_in.rsplit_once('.') {
            Some((instance, nf_type)) => (nf_type, Some(instance)),
            None => (&self.stand_in, None),
        }
    }
}

/// Where a stand-in leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    stand_in: String,
    root: String,
}

impl Located {
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
    asking: Mutex<()>,
}

#[derive(Default)]
struct Found {
    results: BTreeMap<Wanted, Candidates>,
    order: VecDeque<Wanted>,
}

struct Candidates {
    /// apiRoots, the best first.
    roots: VecDeque<String>,
    until: Instant,
}

impl Found {
    fn get(&self, wanted: &Wanted, now: Instant) -> Option<String> {
        let candidates = self.results.get(wanted).filter(|candidates| now < candidates.until)?;
        candidates.roots.front().cloned()
    }

    fn put(&mut self, wanted: Wanted, candidates: Candidates) {
        if self.results.insert(wanted.clone(), candidates).is_none() {
            self.order.push_back(wanted);
        }
        while self.order.len() > MAX_FOUND {
            self.order.pop_front().iter().for_each(|oldest| drop(self.results.remove(oldest)));
        }
    }

    /// A producer cannot be reached: the next one is taken, or the NRF asked anew.
    fn pass_over(&mut self, authority: &str) {
        for candidates in self.results.values_mut() {
            let is_it =
                |root: &String| root.split_once("://").is_some_and(|(_, rest)| host_of(rest) == authority);
            candidates.roots.retain(|root| !is_it(root));
        }
    }
}

fn host_of(rest: &str) -> &str {
    rest.split('/').next().unwrap_or(rest)
}

impl Discovery {
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
        let found = tokio::time::timeout_at(budget.until(), self.find(served, &wanted, budget)).await;
        let late = || NoAnswer::NotSent("the NRF did not answer in time".into());
        let root = found.map_err(|_| late())??;
        Ok(Some(Located { stand_in: format!("{SCHEME}://{}", wanted.stand_in), root }))
    }

    async fn find(&self, served: &Served, wanted: &Wanted, budget: &Budget) -> Result<String, NoAnswer> {
        let known = || self.discovery().found.borrow().get(wanted, self.env().clock.now());
        if let Some(root) = known() {
            return Ok(root);
        }
        // Whoever asks at the same time takes what the first one finds.
        let _one_at_a_time = self.discovery().asking.lock().await;
        if let Some(root) = known() {
            return Ok(root);
        }
        let candidates = self.search(served, wanted, budget).await?;
        let best = candidates.roots.front().cloned();
        self.discovery().found.borrow_mut().put(wanted.clone(), candidates);
        best.ok_or_else(|| {
            NoAnswer::NotSent(format!("the NRF knows no {} with {}", wanted.stand_in, wanted.service))
        })
    }

    async fn search(
        &self,
        served: &Served,
        wanted: &Wanted,
        budget: &Budget,
    ) -> Result<Candidates, NoAnswer> {
        let party = self.party();
        let none = || NoAnswer::NotSent(format!("this NF was given no NRF to find {} at", wanted.stand_in));
        let nrf = party.nrf.as_ref().ok_or_else(none)?.root();
        let (nf_type, instance) = wanted.target();
        let instance = instance.map(|id| format!("&target-nf-instance-id={id}")).unwrap_or_default();
        let uri = format!(
            "{nrf}/nnrf-disc/v1/nf-instances?target-nf-type={}&requester-nf-type={}&requester-nf-instance-id={}&service-names={}{instance}",
            nf_type.to_ascii_uppercase(),
            party.nf_type,
            party.instance_id,
            wanted.service
        );
        let answer = self.exchange(served, Call::get(uri), Lane::Calls, budget).await?;
        let unusable = |why: String| NoAnswer::NotSent(format!("the NRF at {nrf} {why}"));
        if !answer.status.is_success() {
            return Err(unusable(format!("answers {}", answer.status.as_u16())));
        }
        let result: Value = answer.json().ok_or_else(|| unusable("answers with no JSON".into()))?;
        let validity = result.get("validityPeriod").and_then(Value::as_u64).map(Duration::from_secs);
        let until = self.env().clock.now() + validity.unwrap_or(USUAL_VALIDITY).min(MAX_VALIDITY);
        Ok(Candidates { roots: roots_of(&result, &wanted.service), until })
    }
}

/// The apiRoots of the instances of a search result that have a service, the best first.
fn roots_of(result: &Value, service: &str) -> VecDeque<String> {
    let instances = result.get("nfInstances").and_then(Value::as_array);
    let mut found: Vec<_> =
        instances.into_iter().flatten().flat_map(|profile| roots_of_profile(profile, service)).collect();
    found.sort_by_key(|(priority, _)| *priority);
    let mut roots = VecDeque::new();
    for (_, root) in found {
        if !roots.contains(&root) && roots.len() < MAX_CANDIDATES {
            roots.push_back(root);
        }
    }
    roots
}

fn roots_of_profile<'a>(profile: &'a Value, wanted: &'a str) -> impl Iterator<Item = (u64, String)> + 'a {
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
        Some((priority.unwrap_or(u64::from(u16::MAX)), root_of_service(profile, service)?))
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
    let port =
        end_point.and_then(|at| at.get("port")?.as_u64()).map(|port| format!(":{port}")).unwrap_or_default();
    let prefix = text(service, "apiPrefix").unwrap_or_default();
    Some(format!("{scheme}://{host}{port}{}", prefix.trim_end_matches('/')))
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
                "http://[::1]:80/a",
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
        let ports: Vec<_> = roots_of(&result, "nudm-sdm")
            .iter()
            .map(|root| root.rsplit(':').next().unwrap_or("").to_owned())
            .collect();
        assert_eq!(ports, ["2", "3", "1", "5"]);
        assert!(roots_of(&json!({"nfInstances": 7}), "nudm-sdm").is_empty());
    }

    #[test]
    fn a_stand_in_says_what_is_wanted() {
        let wanted = Wanted::of("discovered://udm/nudm-sdm/v2/imsi-1?x=/").expect("a stand-in");
        assert_eq!((wanted.target(), wanted.service.as_str()), (("udm", None), "nudm-sdm"));
        let amf = at_instance(&discovered("amf"), Uuid::nil());
        let wanted = Wanted::of(&format!("{amf}/namf-comm/v1")).expect("a stand-in");
        assert_eq!(wanted.target(), ("amf", Some("00000000-0000-0000-0000-000000000000")));
        assert_eq!(at_instance("http://amf", Uuid::nil()), "http://amf");
        assert_eq!(Wanted::of("http://udm/nudm-sdm/v2"), None);
        let located = Located { stand_in: "discovered://udm".into(), root: "http://10.0.0.1:80/a".into() };
        assert_eq!(located.apply("discovered://udm/nudm-sdm"), "http://10.0.0.1:80/a/nudm-sdm");
        assert_eq!(located.apply("http://other/x"), "http://other/x");
    }

    #[test]
    fn who_cannot_be_reached_is_passed_over() {
        let (mut found, now) = (Found::default(), tokio::time::Instant::now());
        let wanted = Wanted::of("discovered://udm/nudm-sdm").expect("a stand-in");
        let roots = ["http://a:1", "http://b/x"].map(str::to_owned).into();
        found.put(wanted.clone(), Candidates { roots, until: now + USUAL_VALIDITY });
        assert_eq!(found.get(&wanted, now).as_deref(), Some("http://a:1"));
        found.pass_over("a:1");
        assert_eq!(found.get(&wanted, now).as_deref(), Some("http://b/x"));
        assert_eq!(found.get(&wanted, now + USUAL_VALIDITY), None, "it is to be asked for anew");
        found.pass_over("b");
        assert_eq!(found.get(&wanted, now), None);
    }
}
