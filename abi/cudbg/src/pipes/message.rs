//! The messages: `u64 size, u32 version, u32 command, arguments`, and the answer `u64 size, u32 result, outputs`. A size counts the
//! whole message. Numbers are those of the machine, one behind the other.

use opscope_border::Unpadded;

use crate::border::Status;

/// The largest message that is taken, and the most bytes of outputs.
pub const MOST_BYTES: u64 = 256 << 20;

/// The bytes before the arguments.
const HEAD: u64 = 16;

/// What cannot be a message of a debugger: the connection is of no use any more.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

/// The bytes that came, of which the first may be a message.
#[derive(Default)]
pub struct Incoming(Vec<u8>);

/// A command and its arguments.
pub struct Request {
    pub command: u32,
    bytes: Vec<u8>,
    /// How much of it was read.
    at: usize,
}

/// An answer.
pub struct Reply(Vec<u8>);

impl Incoming {
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Takes the first message, if all of it has come.
    ///
    /// # Errors
    /// Returns an error if its size is none of a message.
    pub fn take(&mut self) -> Result<Option<Request>, Malformed> {
        let Some(size) = self.0.first_chunk::<8>().map(|bytes| u64::from_ne_bytes(*bytes)) else { return Ok(None) };
        if !(HEAD..=MOST_BYTES).contains(&size) {
            return Err(Malformed(format!(
                "a message says that it has {size} bytes; there are {HEAD} to {MOST_BYTES}"
            )));
        }
        if (self.0.len() as u64) < size {
            return Ok(None);
        }
        let rest = self.0.split_off(size as usize);
        let mut request = Request { command: 0, bytes: std::mem::replace(&mut self.0, rest), at: 8 };
        // The version that the debugger was made for is known from the command that begins a session.
        request.u32()?;
        request.command = request.u32()?;
        Ok(Some(request))
    }
}

impl Request {
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_ne_bytes)
    }

    /// Takes several numbers.
    pub fn u32s<const N: usize>(&mut self) -> Result<[u32; N], Malformed> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.u32()?;
        }
        Ok(numbers)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_ne_bytes)
    }

    /// Takes as many bytes as an argument has said.
    pub fn bytes(&mut self, count: u32) -> Result<&[u8], Malformed> {
        let (from, all) = (self.at, self.bytes.len());
        let to = from.checked_add(count as usize).filter(|to| *to <= all).ok_or_else(|| self.is_short())?;
        self.at = to;
        Ok(&self.bytes[from..to])
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()).copied();
        self.at += N;
        found.ok_or_else(|| self.is_short())
    }

    fn is_short(&self) -> Malformed {
        Malformed(format!("command {} has {} bytes, and its arguments are longer", self.command, self.bytes.len()))
    }
}

impl Reply {
    pub fn new(status: Status) -> Self {
        let mut bytes = vec![0; 8];
        bytes.extend((status as u32).to_ne_bytes());
        Self(bytes)
    }

    /// Adds an output.
    pub fn and<T: Unpadded>(mut self, value: &T) -> Self {
        self.0.extend(value.as_bytes());
        self
    }

    pub fn and_bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Returns the whole message.
    pub fn finish(mut self) -> Vec<u8> {
        let size = self.0.len() as u64;
        self.0[..8].copy_from_slice(&size.to_ne_bytes());
        self.0
    }
}

/// Returns room for outputs of which an argument says how many there are.
///
/// # Errors
/// Returns an error if no debugger would ask for so many: its own memory for them would be as large.
pub fn room(count: u64, each: usize) -> Result<Vec<u8>, Malformed> {
    let bytes = count.checked_mul(each as u64).filter(|bytes| *bytes <= MOST_BYTES);
    let bytes =
        bytes.ok_or_else(|| Malformed(format!("{count} times {each} bytes were asked for; {MOST_BYTES} can be")))?;
    Ok(vec![0; bytes as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(size: u64, rest: &[u8]) -> Vec<u8> {
        [&size.to_ne_bytes()[..], &12u32.to_ne_bytes(), &7u32.to_ne_bytes(), rest].concat()
    }

    #[test]
    fn messages_are_taken_one_by_one_however_their_bytes_come() {
        let both = [message(20, &[1, 0, 0, 0]), message(16, &[])].concat();
        let mut incoming = Incoming::default();
        let mut taken = Vec::new();
        for byte in &both {
            incoming.push(&[*byte]);
            while let Some(request) = incoming.take().expect("messages") {
                taken.push((request.command, request.bytes.len()));
            }
        }
        assert_eq!(taken, [(7, 20), (7, 16)]);
    }

    #[test]
    fn a_size_that_no_message_has_is_refused_before_its_bytes_come() {
        for size in [0, 1, 15, MOST_BYTES + 1, u64::MAX] {
            let mut incoming = Incoming::default();
            incoming.push(&size.to_ne_bytes());
            assert!(incoming.take().is_err(), "{size}");
        }
    }

    #[test]
    fn arguments_end_where_the_message_does() {
        let mut incoming = Incoming::default();
        incoming.push(&message(21, &[2, 0, 0, 0, 9]));
        let mut request = incoming.take().expect("a message").expect("all of it");
        assert_eq!(request.u32(), Ok(2));
        assert!(request.bytes(2).is_err() && request.bytes(u32::MAX).is_err());
        assert_eq!(request.bytes(1), Ok(&[9][..]));
        assert!(request.u32().is_err() && request.u64().is_err() && request.u32().is_err());
    }

    #[test]
    fn room_for_outputs_has_a_limit() {
        assert_eq!(room(3, 4), Ok(vec![0; 12]));
        assert!(room(u64::MAX, 16).is_err() && room(MOST_BYTES + 1, 1).is_err() && room(u64::MAX / 2, 2).is_err());
    }
}
