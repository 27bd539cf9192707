//! Panics of this thread, those in tasks included, which nobody else would notice.

use std::cell::{Cell, RefCell};
use std::sync::Once;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static NEWEST: RefCell<String> = const { RefCell::new(String::new()) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// How many panics this thread has seen since it was first asked.
pub fn count() -> usize {
    watch();
    COUNT.get()
}

/// What the newest said.
pub fn newest() -> String {
    NEWEST.with_borrow(Clone::clone)
}

/// Runs `work` on this thread without printing what panics in it: it is told otherwise.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    watch();
    let before = QUIET.replace(true);
    let worked = work();
    QUIET.set(before);
    worked
}

fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            COUNT.set(COUNT.get() + 1);
            NEWEST.set(panic.to_string());
            if !QUIET.get() {
                print(panic);
            }
        }));
    });
}
