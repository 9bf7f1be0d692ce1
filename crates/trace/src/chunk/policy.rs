use std::fmt;
use std::str::FromStr;

use crate::TraceError;

/// What happens to a record if the buffer is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The emitting thread waits until a callback has freed space. Nothing is lost.
    Lossless,
    /// The record is dropped and counted. Until the buffer is flushed explicitly, so is every later record that is
    /// larger than the space left. A buffer that is full to the last byte is closed until then, too.
    Discard,
    /// The oldest records are dropped and counted, so the buffer keeps the newest. With a watermark equal to the size,
    /// it is a flight recorder, which delivers only when it is flushed or destroyed.
    Overwrite,
}

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 3] = [Self::Lossless, Self::Discard, Self::Overwrite];

    /// Returns the name, such as `lossless`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lossless => "lossless",
            Self::Discard => "discard",
            Self::Overwrite => "overwrite",
        }
    }
}

impl FromStr for Policy {
    type Err = TraceError;

    /// Reads a policy's name, in any case.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| TraceError::UnknownPolicy(text.to_owned()))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_back_from_its_name_and_an_unknown_one_is_refused_with_all_names() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse::<Policy>().expect("its own name"), policy);
            assert_eq!(policy.name().to_uppercase().parse::<Policy>().expect("its own name"), policy);
        }
        let error = "lossy".parse::<Policy>().expect_err("not a policy").to_string();
        assert_eq!(error, "unknown policy 'lossy'; it is lossless, discard or overwrite");
    }
}
