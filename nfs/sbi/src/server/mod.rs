//! Serving requests under the deadlines of their clients.
//!
//! hyper owns the connections (HTTP/1.1 and HTTP/2 with prior knowledge on one port), a [`Front`] checks deadlines
//! before and after, and an actix-web app behind it routes to the actor of an NF ([`start`]).

mod accept;
mod adapter;
mod admission;
mod arrival;
mod body;
mod conclusion;
mod delivery;
mod fault_point;
mod front;
mod gone;
mod keeper;
mod kind;
mod nf;
mod passed;
mod recorder;
mod reply;
mod schema_point;
mod start;
mod workers;

pub use accept::{Connection, GREETING_PATIENCE, MAX_CONNECTIONS, accept};
pub use adapter::handler;
pub use admission::{ABSURD_AGE_MS, Admission, USUAL_LEAD_MS};
pub use body::{MAX_DRAINED_BYTES, RequestBody, ResponseBody, content_type};
pub use delivery::{Delivery, Handover};
pub use front::{
    BODY_PATIENCE, Front, Handler, MAX_HEADER_BYTES, MAX_PENDING_RESETS, MAX_RUNNING,
    MAX_STREAMS_PER_CONNECTION, Outcome, PassedOn, QUEUE_PATIENCE, WrapsErrors,
};
pub use keeper::{Busy, Close, Keeper, ReleaseAll, Resources, Unsettled};
pub use kind::RequestKind;
pub use nf::{Forget, Held, Holding, Holdings, Nf, Shard, Shards};
pub use reply::{Failure, Reply};
pub use start::{MAILBOX_CAPACITY, MAX_BODY_BYTES, Port, Running, start};
pub use workers::Workers;
