//! Mock UDR: the data behind a UDM and a PCF, `Nudr_DataRepository` (TS 29.504, TS 29.505, TS 29.519 (Rel-17)).
//!
//! It creates nothing upstream, so it has nothing to release; what it sends are notifications of changes. Its operations
//! are one function, [`serve`](operation::serve), behind two doors: the actor of the NF, and [`in_process`] for a UDM
//! that runs without a UDR.

mod notifier;
mod operation;
mod profile;
mod repository;
mod udr;

pub use notifier::MAX_NOTIFICATIONS_AT_ONCE;
pub use operation::in_process;
pub use profile::Profile;
pub use repository::Repository;
pub use udr::{Config, FirstPut, Udr};
