//! The consumer side towards the UDR: `Nudr_DataRepository`, TS 29.505 (Rel-17). Reads are here.

mod slots;
mod subscriptions;

use crate::context::RegistrationKey;
use crate::udm::Core;
use api::common::{PlmnId, Supi};
use api::nudr_dr::{self, DataSet};
use api::query::text_param;
use http::StatusCode;
use sbi::client::{Answer, Call};
use sbi::problem::Cause;

impl Core {
    fn at_udr(&self, path: &str) -> String {
        format!("{}{path}", self.config.udr)
    }

    /// GET of a data set, with the filters of the consumer's query.
    pub(crate) fn data_set_call(&self, supi: &Supi, plmn: &PlmnId, set: DataSet, filters: &str) -> Call {
        Call::get(self.at_udr(&format!("{}{filters}", nudr_dr::data_set(supi, plmn, set))))
    }

    /// GET of several data sets.
    pub(crate) fn data_sets_call(&self, supi: &Supi, plmn: &PlmnId, sets: &[DataSet]) -> Call {
        let names: Vec<_> = sets.iter().map(|set| set.name()).collect();
        let names = text_param("dataset-names", &names.join(","));
        Call::get(self.at_udr(&format!("{}?{names}", nudr_dr::provisioned_data(supi, plmn))))
    }

    /// GET of one registration.
    pub(crate) fn registration_call(&self, key: &RegistrationKey) -> Call {
        Call::get(self.at_udr(&nudr_dr::smf_registration(&key.supi, key.pdu_session_id)))
    }

    /// GET of all registrations of a subscriber.
    pub(crate) fn registrations_call(&self, supi: &Supi) -> Call {
        Call::get(self.at_udr(&nudr_dr::smf_registrations(supi)))
    }

    /// GET of the registration of the AMF.
    pub(crate) fn amf_registration_call(&self, supi: &Supi) -> Call {
        Call::get(self.at_udr(&nudr_dr::amf_registration(supi)))
    }
}

/// 404, but not because the subscriber is unknown.
fn is_empty(answer: &Answer) -> bool {
    answer.status == StatusCode::NOT_FOUND && !answer.problem().is(Cause::UserNotFound)
}
