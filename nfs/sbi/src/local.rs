//! Tasks that stay on their thread.

use std::future::Future;
use tokio::task::spawn_local;

/// Runs hyper's tasks on the thread of the worker (an actix arbiter, or a simulated host).
#[derive(Clone, Copy)]
pub(crate) struct LocalExec;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for LocalExec {
    fn execute(&self, future: F) {
        spawn_local(future);
    }
}
