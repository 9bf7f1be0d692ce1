//! What clients may do, and what they are answered where they may not.

use super::debuggee::Debuggee;
use super::support::{Language, program};

/// The last revision before 13.0, and the newest one.
const REVISIONS: [&str; 2] = ["156", "193"];

#[test]
fn every_misuse_gets_its_code() {
    for language in Language::ALL {
        let program = program("misuse.c", language);
        for revision in REVISIONS {
            let debuggee = Debuggee::new();
            let mut client = program.start(&[revision], &[debuggee.target()]);
            client.until("attached");
            assert_eq!(client.end().stderr, "");
            assert_eq!(debuggee.log(), "");
        }
    }
}
