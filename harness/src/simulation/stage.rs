//! Where simulated hosts run: side by side on one thread, in one runtime whose clock jumps when nothing can be done. Each
//! has tasks of its own, so that one can be ended with everything that it does, and started anew.

use super::medium::Medium;
use crate::registry::Started;
use futures_util::future::LocalBoxFuture;
use sbi::journal::Crash;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::LocalSet;

/// A scenario did not end.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the scenario did not end within {} s of simulated time", .0.as_secs())]
pub struct Stuck(pub Duration);

/// How a host starts, each time.
type Start = Box<dyn Fn() -> LocalBoxFuture<'static, Started>>;

/// A host to be.
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) start: Start,
    /// What it keeps its journal on.
    pub(crate) medium: Option<Medium>,
}

/// A host's tasks; none while it is down.
struct Running {
    host: Host,
    tasks: Option<LocalSet>,
}

/// What the scenario asks for: it cannot do it itself, since it is called by who can.
enum Order {
    Crash(String, Crash),
    Restart(String),
}

/// The hosts of one simulation.
#[derive(Default)]
pub(crate) struct Stage {
    hosts: RefCell<Vec<Running>>,
    orders: RefCell<VecDeque<Order>>,
    carried_out: Notify,
    entered: RefCell<BTreeMap<String, Started>>,
    has_entered: Notify,
}

impl Stage {
    /// A host more, running.
    pub(crate) fn add(self: &Rc<Self>, host: Host) {
        let tasks = Some(self.start(&host));
        self.hosts.borrow_mut().push(Running { host, tasks });
    }

    fn start(self: &Rc<Self>, host: &Host) -> LocalSet {
        let (tasks, stage, name, starting) =
            (LocalSet::new(), self.clone(), host.name.clone(), (host.start)());
        tasks.spawn_local(async move {
            let started = starting.await;
            stage.entered.borrow_mut().insert(name, started);
            stage.has_entered.notify_waiters();
        });
        tasks
    }

    /// What the host `name` started, once it has.
    pub(crate) async fn started(&self, name: &str) -> Started {
        loop {
            let entered = self.has_entered.notified();
            if let Some(started) = self.entered.borrow_mut().remove(name) {
                return started;
            }
            entered.await;
        }
    }

    /// Whether it runs.
    pub(crate) fn is_running(&self, name: &str) -> bool {
        self.hosts.borrow().iter().any(|running| running.host.name == name && running.tasks.is_some())
    }

    /// Ends a host with everything that it does.
    pub(crate) async fn crash(&self, name: &str, how: Crash) {
        self.order(Order::Crash(name.into(), how)).await;
    }

    /// Starts it anew.
    pub(crate) async fn restart(&self, name: &str) {
        self.order(Order::Restart(name.into())).await;
    }

    async fn order(&self, order: Order) {
        let carried_out = self.carried_out.notified();
        self.orders.borrow_mut().push_back(order);
        carried_out.await;
    }

    fn carry_out(self: &Rc<Self>) {
        let orders = std::mem::take(&mut *self.orders.borrow_mut());
        if orders.is_empty() {
            return;
        }
        for order in orders {
            let (name, how) = match &order {
                Order::Crash(name, how) => (name, *how),
                Order::Restart(name) => (name, Crash::Process),
            };
            let mut hosts = self.hosts.borrow_mut();
            let Some(running) = hosts.iter_mut().find(|running| running.host.name == *name) else { continue };
            if let (Some(medium), true) = (&running.host.medium, running.tasks.is_some()) {
                medium.crash(how);
            }
            // What is there ends first: its connections, timers and memory.
            drop(running.tasks.take());
            if let Order::Restart(_) = order {
                running.tasks = Some(self.start(&running.host));
            }
        }
        self.carried_out.notify_waiters();
    }

    fn poll(self: &Rc<Self>, cx: &mut Context<'_>) {
        for running in self.hosts.borrow_mut().iter_mut() {
            if let Some(tasks) = &mut running.tasks {
                let _ = pin!(tasks).poll(cx);
            }
        }
        self.carry_out();
    }

    /// Plays `scenario` beside the hosts to its end, within `most` of simulated time.
    ///
    /// # Panics
    ///
    /// If the scenario does.
    pub(crate) async fn play<T: 'static>(
        self: Rc<Self>,
        scenario: impl Future<Output = T> + 'static,
        most: Duration,
    ) -> Result<T, Stuck> {
        let mut player = LocalSet::new();
        let mut scenario = player.spawn_local(scenario);
        // Without a timer the clock could not jump, and nothing would ever happen.
        let mut too_long = pin!(tokio::time::sleep(most));
        let ended = poll_fn(|cx| {
            self.poll(cx);
            let _ = pin!(&mut player).poll(cx);
            if !self.orders.borrow().is_empty() {
                // Nobody else may have anything to do before it is carried out.
                cx.waker().wake_by_ref();
            }
            if let Poll::Ready(ended) = pin!(&mut scenario).poll(cx) {
                return Poll::Ready(Some(ended));
            }
            too_long.as_mut().poll(cx).map(|()| None)
        });
        match ended.await {
            Some(Ok(played)) => Ok(played),
            Some(Err(panicked)) if panicked.is_panic() => std::panic::resume_unwind(panicked.into_panic()),
            Some(Err(_)) | None => Err(Stuck(most)),
        }
    }
}

/// A runtime for one simulation: its clock stands still unless nothing can be done.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without input and output always starts")
}
