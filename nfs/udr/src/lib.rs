//! Mock UDR: the subscription data behind a UDM, `Nudr_DataRepository` (TS 29.504, TS 29.505 (Rel-17)).
//!
//! It calls nobody, so it has nothing to release upstream. Its operations are one function, [`serve`], behind two
//! doors: the actor of the NF, and [`in_process`] for a UDM that runs without a UDR.

mod operation;
mod repository;
mod udr;

pub use operation::in_process;
pub use repository::Repository;
pub use udr::{Config, Udr};
