//! The names of records.

/// Names a record. Records of one kind are beside one another, those of a shard too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Whose journal it is.
    Identity,
    /// Who may write it.
    Lease,
    /// What is owed for one create of a shard.
    Obligation {
        /// The shard.
        shard: u32,
        /// The obligation's number: older ones have lower numbers.
        id: u64,
    },
    /// A context of a shard.
    Context {
        /// The shard.
        shard: u32,
        /// Its name as an owner.
        owner: String,
    },
    /// Data that the shards share.
    Item(String),
}

impl Key {
    /// As a store keeps it: a letter, then what tells records of a kind apart. Their order is that of the keys.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Key::Identity => b"a".to_vec(),
            Key::Lease => b"b".to_vec(),
            Key::Obligation { shard, id } => [b"c", &shard.to_be_bytes()[..], &id.to_be_bytes()].concat(),
            Key::Context { shard, owner } => [b"d", &shard.to_be_bytes()[..], owner.as_bytes()].concat(),
            Key::Item(name) => [b"e", name.as_bytes()].concat(),
        }
    }

    /// Reads it back; `None` if it is no such name.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        match kind {
            b'a' if rest.is_empty() => Some(Key::Identity),
            b'b' if rest.is_empty() => Some(Key::Lease),
            b'c' => {
                let (shard, id) = rest.split_first_chunk()?;
                Some(Key::Obligation {
                    shard: u32::from_be_bytes(*shard),
                    id: u64::from_be_bytes(id.try_into().ok()?),
                })
            }
            b'd' => {
                let (shard, owner) = rest.split_first_chunk()?;
                Some(Key::Context { shard: u32::from_be_bytes(*shard), owner: text(owner)? })
            }
            b'e' => Some(Key::Item(text(rest)?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_back_and_sort_as_their_bytes_do() {
        let owner = |shard, owner: &str| Key::Context { shard, owner: owner.into() };
        let keys = [
            Key::Identity,
            Key::Lease,
            Key::Obligation { shard: 0, id: 9 },
            Key::Obligation { shard: 0, id: 300 },
            Key::Obligation { shard: 1, id: 1 },
            owner(0, ""),
            owner(0, "pdu-session r-1 5 imsi-001010000000001"),
            owner(1, "a"),
            Key::Item(String::new()),
            Key::Item("place 5 é".into()),
        ];
        for pair in keys.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].to_bytes() < pair[1].to_bytes(), "{pair:?}");
        }
        for key in keys {
            assert_eq!(Key::from_bytes(&key.to_bytes()), Some(key));
        }
        for bad in [&b""[..], b"a1", b"c", b"c123", b"d12", b"e\xff", b"z"] {
            assert_eq!(Key::from_bytes(bad), None, "{bad:?}");
        }
    }
}
