use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::runtime::Runtime;
use crate::{Refusal, forbidden};

/// Where things are in an interpreter's memory: the part that is needed of `_Py_DebugOffsets`, the table with which the
/// section `.PyRuntime` begins. Source: CPython 3.14, `Include/internal/pycore_debug_offsets.h`.
pub struct Offsets {
    /// In the runtime: the address of the first interpreter.
    pub interpreters_head: u64,
    /// In an interpreter: the address of its first thread.
    pub threads_head: u64,
    /// In an interpreter: the address of its main thread.
    pub threads_main: u64,
    /// In an interpreter: whether it may be asked.
    pub remote_debugging_enabled: u64,
    /// In a thread: the address of the next one.
    pub next_thread: u64,
    /// In a thread: what makes it stop.
    pub eval_breaker: u64,
    /// In a thread: what it is asked for. The next two are in that.
    pub support: u64,
    /// Whether it is asked for something.
    pub pending_call: u64,
    /// The path of the script.
    pub script_path: u64,
    /// The longest path, with the zero at its end.
    pub script_path_size: u64,
}

const COOKIE: &[u8; 8] = b"xdebugpy";

/// The table's words of 3.14, as 64-bit numbers.
const WORDS: usize = 95;

/// The version of the table's layout: 3.14, whatever comes behind that.
const KNOWN: u64 = 0x030e;

impl Offsets {
    /// Reads the table.
    pub fn read(pid: u32, memory: &File, runtime: &Runtime) -> Result<Self, Refusal> {
        let mut bytes = [0; 8 * WORDS];
        memory.read_exact_at(&mut bytes, runtime.address).map_err(|source| forbidden(pid, source))?;
        Self::parse(pid, &bytes, runtime.version.as_deref())
    }

    /// `version` is that of the file, which interpreters before 3.13 do not have in their memory.
    fn parse(pid: u32, bytes: &[u8; 8 * WORDS], version: Option<&str>) -> Result<Self, Refusal> {
        let word = |index: usize| {
            let bytes: [u8; 8] = bytes[8 * index..][..8].try_into().expect("a word has 8 bytes");
            u64::from_ne_bytes(bytes)
        };
        if &bytes[..8] != COOKIE {
            return Err(Refusal::TooOld { pid, version: version.map(str::to_owned) });
        }
        // As in PY_VERSION_HEX: a byte each for 3, 14 and the rest.
        let (major, minor) = (word(1) >> 24 & 0xff, word(1) >> 16 & 0xff);
        let version = format!("{major}.{minor}");
        match word(1) >> 16 {
            older if older < KNOWN => return Err(Refusal::TooOld { pid, version: Some(version) }),
            newer if newer > KNOWN => return Err(Refusal::TooNew { pid, version }),
            _ => {}
        }
        Ok(Self {
            interpreters_head: word(5),
            threads_head: word(9),
            threads_main: word(10),
            next_thread: word(24),
            eval_breaker: word(89),
            support: word(90),
            remote_debugging_enabled: word(91),
            pending_call: word(92),
            script_path: word(93),
            script_path_size: word(94),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(version: u64) -> [u8; 8 * WORDS] {
        let mut bytes = [0; 8 * WORDS];
        for index in 0..WORDS {
            bytes[8 * index..][..8].copy_from_slice(&(1000 + index as u64).to_ne_bytes());
        }
        bytes[..8].copy_from_slice(COOKIE);
        bytes[8..16].copy_from_slice(&version.to_ne_bytes());
        bytes
    }

    #[test]
    fn the_offsets_of_3_14_are_read_and_other_versions_are_refused_by_name() {
        let offsets = Offsets::parse(1, &table(0x030e_08f0), None).expect("it is 3.14.8");
        assert_eq!((offsets.interpreters_head, offsets.threads_main, offsets.script_path_size), (1005, 1010, 1094));
        let refusal = |bytes: &[u8; 8 * WORDS], version| match Offsets::parse(7, bytes, version) {
            Err(refusal) => refusal.to_string(),
            Ok(_) => panic!("it is refused"),
        };
        assert!(
            refusal(&table(0x030d_01f0), None).contains("process 7 runs CPython 3.13, which no other process can ask")
        );
        assert!(
            refusal(&table(0x030f_00f0), None).contains("CPython 3.15, and this opscope knows the memory of 3.14 only")
        );
        assert!(refusal(&[0; 8 * WORDS], Some("3.11")).contains("CPython 3.11, which"));
        assert!(refusal(&[0; 8 * WORDS], None).contains("runs CPython, which"));
    }
}
