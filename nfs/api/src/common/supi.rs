//! Who the subscriber is.

use super::{Malformed, digits};
use crate::text::text;

text! {
    /// The permanent identity of a subscriber, TS 29.571 §5.3.2 (Rel-17).
    ///
    /// ```text
    /// imsi-<5 to 15 digits>  |  nai-<NAI>  |  gci-<GCI>  |  gli-<GLI>
    /// ```
    ///
    /// Kept and compared as it was given. The standard's pattern ends with "or anything"; we take the four forms that
    /// it names, and no control characters.
    #[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    Supi: "`imsi-` and 5 to 15 digits, or `nai-`, `gci-` or `gli-` and a name", is_supi
}

fn is_supi(text: &str) -> bool {
    match text.split_once('-') {
        Some(("imsi", number)) => digits(number, 5..=15),
        Some(("nai" | "gci" | "gli", name)) => !name.is_empty() && !name.chars().any(char::is_control),
        _ => false,
    }
}

impl Supi {
    /// The subscriber with this IMSI: MCC, MNC and MSIN in 5 to 15 digits.
    pub fn imsi(digits: &str) -> Result<Supi, Malformed> {
        format!("imsi-{digits}").parse()
    }

    /// The digits of the IMSI, if it is one.
    pub fn imsi_digits(&self) -> Option<&str> {
        self.as_str().strip_prefix("imsi-")
    }

    /// The IMSI `n` further on, with as many digits: the members of a block of subscribers. None past the last one.
    pub fn nth(&self, n: u64) -> Option<Supi> {
        if n == 0 {
            return Some(self.clone());
        }
        let first = self.imsi_digits()?;
        let number = first.parse::<u64>().ok()?.checked_add(n)?;
        let digits = format!("{number:0width$}", width = first.len());
        if digits.len() == first.len() { Supi::imsi(&digits).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imsi_has_5_to_15_digits() {
        assert_eq!(Supi::imsi("001010000000001").expect("15").as_str(), "imsi-001010000000001");
        assert!(Supi::imsi("00101").is_ok());
        for wrong in ["0010", "0010100000000010", "00101x", "", "٠٠١٠١"] {
            assert!(Supi::imsi(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_other_forms_need_a_name() {
        for right in ["nai-user@example.org", "gci-a", "gli-b-c"] {
            assert_eq!(right.parse::<Supi>().expect("a form of the standard").to_string(), right);
        }
        for wrong in ["nai-", "IMSI-001010000000001", "msisdn-4917", "001010000000001", "nai-a\nb", ""] {
            assert!(wrong.parse::<Supi>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_block_of_subscribers_counts_up_and_keeps_its_zeros() {
        let first = Supi::imsi("001010000000001").expect("IMSI");
        assert_eq!(first.nth(0), Some(first.clone()));
        assert_eq!(first.nth(99).expect("inside").as_str(), "imsi-001010000000100");
        assert_eq!(Supi::imsi("99999").expect("IMSI").nth(1), None);
        assert_eq!(first.nth(u64::MAX), None);
    }

    #[test]
    fn the_error_says_what_was_expected() {
        let error = Supi::imsi("12").expect_err("too short").to_string();
        assert!(error.starts_with("expected `imsi-` and 5 to 15 digits"), "{error}");
        assert!(error.ends_with("but found `imsi-12`"), "{error}");
    }
}
