//! Behaviour over real HTTP/2 on the loopback.
#![allow(clippy::unwrap_used)]

mod after_answer;
mod amf_registrations;
mod announced_budget;
mod attempts;
mod bad_bodies;
mod bad_paths;
mod bad_timing;
mod captures;
mod cases;
mod client_gone;
mod data_changes;
mod done_rules;
mod drop_mode;
mod http1;
mod irrevocable;
mod late_answers;
mod late_on_receipt;
mod late_release;
mod lost_answers;
mod margin;
mod multipart;
mod release_on_timeout;
mod release_requests;
mod schema_true;
mod sdm_data;
mod sdm_subscriptions;
mod slots;
mod status_notification;
mod strict;
mod support;
mod too_big;
mod udr_data;
mod ue_registration;
mod unanswered_creates;
mod which_504;
