use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hash::Hash;
use crate::{TensorError, TensorView};

/// The XXH3 hash of bytes, of 64 bits: of a model's file, or of a tensor's elements. As text, and in JSON, it has 16
/// hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u64);

impl Digest {
    /// Computes the hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Hash::new();
        hash.update(bytes, false);
        Self(hash.digest())
    }

    /// Computes the hash of a tensor's elements, which is that of its [`Statistics`](crate::Statistics).
    ///
    /// # Errors
    /// Returns an error if the tensor has no byte form, or the device cannot read it.
    pub fn of_tensor(tensor: &TensorView<'_>) -> Result<Self, TensorError> {
        let mut hash = Hash::new();
        tensor.pieces(|bytes| hash.update(bytes, false))?;
        Ok(Self(hash.digest()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 16 || !text.bytes().all(is_digit) {
            return Err(());
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| ())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DigitsVisitor)
    }
}

struct DigitsVisitor;

impl Visitor<'_> for DigitsVisitor {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash of 16 hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Digest, E> {
        text.parse().map_err(|()| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_16_digits_in_text_and_in_json_and_nothing_else_is_one() {
        // The hash of no bytes, from the specification of XXH3.
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), "2d06800538d394c2");
        assert_eq!(Digest(1).to_string(), "0000000000000001");
        let json = serde_json::to_string(&digest).expect("a text");
        assert_eq!(json, "\"2d06800538d394c2\"");
        assert_eq!(serde_json::from_str::<Digest>(&json).expect("a hash"), digest);
        for wrong in ["", "1", "2d06800538d394c", "2d06800538d394c2a", "2D06800538D394C2", "+d06800538d394c2"] {
            assert!(serde_json::from_str::<Digest>(&format!("\"{wrong}\"")).is_err(), "{wrong}");
        }
    }
}
