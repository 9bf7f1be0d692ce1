//! Buffered tracing of ROCTx.

use opscope_c_programs::Language;

use super::{program, run_with_both_runtimes};

#[test]
fn every_call_is_a_record_with_its_ids_times_and_thread() {
    run_with_both_runtimes("markers.c", &[]);
}

#[test]
fn a_million_records_of_four_threads_are_all_accounted_for() {
    for (language, [size, watermark, policy, contexts]) in [
        (Language::C11, ["4096", "3072", "lossless", "alone"]),
        (Language::Cxx17, ["1048576", "786432", "lossless", "alone"]),
        (Language::C11, ["4096", "0", "lossless", "beside"]),
        (Language::Cxx17, ["4096", "4096", "discard", "alone"]),
    ] {
        let many = program("many.c").argument(size).argument(watermark).argument(policy).argument(contexts);
        assert_eq!(many.run_as(language).stderr, "");
    }
}

#[test]
fn calls_of_signal_handlers_wait_for_nothing_and_each_is_a_record_or_counted() {
    for wanted in ["alone", "ranges", "beside"] {
        program("signals.c").argument(wanted).run_silently();
    }
}
