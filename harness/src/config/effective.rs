//! The configuration that is used: what was said, and the default of everything else.

use super::{
    AdminSection, ClientSection, Config, DeadlineSection, JournalSection, LoggerSection, NfSection,
    OpenapiSection, ReleaseSection, SbiSection, SubscriberSection,
};
use crate::subscribers;
use sbi::party::NfType;
use sbi::policy::Policy;
use std::num::NonZeroU32;

impl Config {
    /// What was said, and the default of everything else. An NF's own section has what is its own alone: the rest is as
    /// the sections for all NFs say.
    #[must_use]
    pub fn effective(&self) -> Config {
        let mut policy = Policy::default();
        self.deadline.iter().for_each(|said| said.decide(&mut policy.deadline));
        self.release.iter().for_each(|said| said.decide(&mut policy.release));
        self.client.iter().for_each(|said| said.decide(&mut policy));
        let openapi = self.openapi.clone().unwrap_or_default();
        let journal = self.journal.clone().unwrap_or_default();
        let client = self.client.clone().unwrap_or_default();
        let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Config {
            plmn: Some(self.home_plmn()),
            addresses: Some(self.addresses.unwrap_or_default()),
            logger: Some(LoggerSection { level: Some(self.log_level()) }),
            admin: Some(AdminSection { bind: Some(self.lab_admin()) }),
            openapi: Some(OpenapiSection { mode: Some(openapi.mode.unwrap_or_default()), ..openapi }),
            deadline: Some(DeadlineSection::of(&policy.deadline)),
            journal: Some(JournalSection { sync: Some(journal.sync.unwrap_or_default()), ..journal }),
            release: Some(ReleaseSection::of(&policy.release)),
            client: Some(ClientSection { max_rsp_time_ms: Some(ms(policy.max_rsp_time)), ..client }),
            drain_ms: Some(self.drain_ms.unwrap_or(ms(policy.drain))),
            subscribers: Some(self.subscribers.clone().unwrap_or_else(default_subscribers)),
            amf: self.effective_nf(NfType::Amf),
            smf: self.effective_nf(NfType::Smf),
            udm: self.effective_nf(NfType::Udm),
            udr: self.effective_nf(NfType::Udr),
            nrf: self.nrf.as_ref().and_then(|_| self.effective_nf(NfType::Nrf)),
            scp: self.scp.as_ref().and_then(|_| self.effective_nf(NfType::Scp)),
            instances: self.instances.clone(),
        }
    }

    fn effective_nf(&self, nf_type: NfType) -> Option<NfSection> {
        let name = nf_type.name();
        let said = self.section(name).cloned().unwrap_or_default();
        let max_pending_resets = Some(self.policy(name).max_pending_resets);
        let sbi = SbiSection {
            bind: Some(self.bind(name)),
            max_pending_resets,
            ..said.sbi.clone().unwrap_or_default()
        };
        let nf = NfSection { sbi: Some(sbi), ..said };
        let smf = self.smf_choices(name);
        Some(match nf_type {
            NfType::Amf => nf,
            NfType::Smf => NfSection {
                answer: Some(smf.answer),
                collisions: Some(smf.collisions),
                procedure_timer_ms: u64::try_from(smf.procedure_timer.as_millis()).ok(),
                ..nf
            },
            NfType::Udm => NfSection { hear_changes: Some(self.policy(name).hear_changes), ..nf },
            NfType::Scp => NfSection { release_late: Some(self.policy(name).release_late), ..nf },
            NfType::Udr => NfSection { first_put: Some(self.first_put(name)), ..nf },
            NfType::Nrf => {
                let interval = u32::try_from(self.heart_beats(name).interval_s).ok();
                NfSection { heart_beat_s: interval.and_then(NonZeroU32::new), ..nf }
            }
        })
    }
}

fn default_subscribers() -> Vec<SubscriberSection> {
    let block = |supi, count| SubscriberSection::block(supi, count);
    let foreign = subscribers::FOREIGN_SUPI.parse().expect("a SUPI");
    vec![block(subscribers::supi(0), subscribers::DEFAULT_COUNT), block(foreign, 1)]
}
