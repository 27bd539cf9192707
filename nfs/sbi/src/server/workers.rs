//! The worker threads of a process. Every worker runs every NF of the process.

use actix_rt::Arbiter;

/// Where actors and fronts run: threads of their own, or, under simulation, the calling one.
pub enum Workers {
    /// One arbiter, and so one thread, per worker.
    Threads(Vec<Arbiter>),
    /// So many shards side by side on the calling thread.
    Here(usize),
}

impl Workers {
    /// `count` threads. Needs a running actix system.
    pub fn threads(count: usize) -> Self {
        Workers::Threads((0..count.max(1)).map(|_| Arbiter::new()).collect())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            Workers::Threads(arbiters) => arbiters.len(),
            Workers::Here(count) => *count,
        }
    }

    /// Runs `task` on worker number `index`; it may spawn local tasks there.
    pub fn spawn(&self, index: usize, task: impl FnOnce() + Send + 'static) {
        match self {
            Workers::Threads(arbiters) => drop(arbiters[index].spawn_fn(task)),
            Workers::Here(_) => task(),
        }
    }

    /// Runs a task that blocks, on a thread of its own that ends with it; under simulation on the calling one.
    pub fn aside<T: Future<Output = ()> + Send + 'static>(&self, task: impl FnOnce() -> T + Send + 'static) {
        match self {
            Workers::Threads(_) => {
                let alone = async move {
                    task().await;
                    Arbiter::current().stop();
                };
                Arbiter::new().spawn(alone);
            }
            Workers::Here(_) => drop(tokio::task::spawn_local(task())),
        }
    }

    /// Ends the threads.
    pub fn stop(self) {
        let Workers::Threads(arbiters) = self else { return };
        arbiters.iter().for_each(|arbiter| {
            arbiter.stop();
        });
        arbiters.into_iter().for_each(|arbiter| drop(arbiter.join()));
    }
}
