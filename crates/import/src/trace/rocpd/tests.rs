use std::collections::BTreeMap;

use rusqlite::Connection;

use super::*;
use crate::trace::assemble::TrackOf;
use crate::trace::event::What;

/// The tables of a run with schema 3, as far as they are read.
const TABLES: &str = "
    CREATE TABLE rocpd_string@ (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
    INSERT INTO rocpd_string@ VALUES (1, '', 'hipLaunchKernel'), (2, '', 'roctxRangePushA'), (3, '', 'HIP_RUNTIME_API_EXT'),
        (4, '', 'MARKER_CORE_RANGE_API'), (5, '', 'MEMORY_COPY_HOST_TO_DEVICE'), (6, '', 'busy');
    CREATE TABLE rocpd_info_node@ (id INTEGER PRIMARY KEY, guid TEXT, machine_id TEXT, hostname TEXT);
    INSERT INTO rocpd_info_node@ VALUES (1, '', 'm', 'node-a');
    CREATE TABLE rocpd_info_process@ (id INTEGER PRIMARY KEY, pid INT, command TEXT);
    INSERT INTO rocpd_info_process@ VALUES (1, $, 'train');
    CREATE TABLE rocpd_info_thread@ (id INTEGER PRIMARY KEY, pid INT, tid INT, name TEXT);
    INSERT INTO rocpd_info_thread@ VALUES (1, 1, $+1, 'worker');
    CREATE TABLE rocpd_info_agent@ (id INTEGER PRIMARY KEY, nid INT, type TEXT, absolute_index INT, product_name TEXT);
    INSERT INTO rocpd_info_agent@ VALUES (1, 1, 'CPU', 0, 'EPYC'), (2, 1, 'GPU', 4, 'MI300X');
    CREATE TABLE rocpd_info_kernel_symbol@ (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);
    INSERT INTO rocpd_info_kernel_symbol@ VALUES (1, '_Z4gemm', 'gemm(int)'), (2, 'plain.kd', NULL);
    CREATE TABLE rocpd_info_pmc@ (id INTEGER PRIMARY KEY, name TEXT, units TEXT);
    INSERT INTO rocpd_info_pmc@ VALUES (1, 'SQ_WAVES', 'waves');
    CREATE TABLE rocpd_track@ (id INTEGER PRIMARY KEY, pid INT, tid INT, agent_id INT, queue_id INT, stream_id INT, name_id INT);
    INSERT INTO rocpd_track@ VALUES (1, 1, 1, NULL, NULL, NULL, 6), (2, 1, 1, 2, 1, 3, NULL);
    CREATE TABLE rocpd_event@ (id INTEGER PRIMARY KEY, category_id INT, stack_id INT, correlation_id INT, extdata TEXT);
    INSERT INTO rocpd_event@ VALUES (1, 3, 11, 0, '{}'), (2, 3, 11, 0, '{}'), (3, 4, 12, 0, '{\"message\":\"step 1\"}'),
        (4, 3, 13, 0, '{}'), (5, 4, 14, 0, 'no JSON'), (6, NULL, NULL, NULL, '{}');
    CREATE TABLE rocpd_pmc_event@ (id INTEGER PRIMARY KEY, event_id INT, pmc_id INT, value REAL);
    INSERT INTO rocpd_pmc_event@ VALUES (1, 2, 1, 8.5), (2, 99, 1, 1);
    CREATE TABLE rocpd_memory_allocate@ (id INTEGER PRIMARY KEY, start INT);
    INSERT INTO rocpd_memory_allocate@ VALUES (1, 5);";
const SCHEMA_3: &str = "
    CREATE TABLE rocpd_region@ (id INTEGER PRIMARY KEY, nid INT, pid INT, tid INT, start INT, end INT, name_id INT, event_id INT);
    INSERT INTO rocpd_region@ VALUES (1, 1, 1, 1, 100, 110, 1, 1), (2, 1, 1, 1, 90, 300, 2, 3), (3, 1, 1, 1, 95, 95, 2, 5);
    CREATE TABLE rocpd_kernel_dispatch@ (id INTEGER PRIMARY KEY, nid INT, pid INT, tid INT, agent_id INT, kernel_id INT,
        queue_id INT, stream_id INT, start INT, end INT, event_id INT);
    INSERT INTO rocpd_kernel_dispatch@ VALUES (1, 1, 1, 1, 2, 1, 1, 3, 120, 150, 2), (2, 1, 1, 1, 2, 2, 1, 3, 150, 151, 2),
        (3, 1, 1, 1, 2, 1, 1, 3, 9, 8, 2);
    CREATE TABLE rocpd_memory_copy@ (id INTEGER PRIMARY KEY, pid INT, tid INT, start INT, end INT, name_id INT,
        dst_agent_id INT, src_agent_id INT, queue_id INT, stream_id INT, event_id INT);
    INSERT INTO rocpd_memory_copy@ VALUES (1, 1, 1, 200, 220, 5, 2, 1, 1, 3, 4);
    CREATE TABLE rocpd_sample@ (id INTEGER PRIMARY KEY, track_id INT, timestamp INT, event_id INT);
    INSERT INTO rocpd_sample@ VALUES (1, 1, 77, 6);";
/// The same events in the schema before 3.
const SCHEMA_2: &str = "
    CREATE TABLE rocpd_timestamp@ (id INTEGER PRIMARY KEY, value INT);
    INSERT INTO rocpd_timestamp@ VALUES (1, 100), (2, 110), (3, 90), (4, 300), (5, 95), (6, 120), (7, 150), (8, 151),
        (9, 9), (10, 8), (11, 200), (12, 220), (13, 77);
    CREATE TABLE rocpd_region@ (id INTEGER PRIMARY KEY, track_id INT, name_id INT, start_id INT, end_id INT, event_id INT);
    INSERT INTO rocpd_region@ VALUES (1, 1, 1, 1, 2, 1), (2, 1, 2, 3, 4, 3), (3, 1, 2, 5, 5, 5);
    CREATE TABLE rocpd_kernel_dispatch@ (id INTEGER PRIMARY KEY, track_id INT, kernel_id INT, start_id INT, end_id INT, event_id INT);
    INSERT INTO rocpd_kernel_dispatch@ VALUES (1, 2, 1, 6, 7, 2), (2, 2, 2, 7, 8, 2), (3, 2, 1, 9, 10, 2);
    CREATE TABLE rocpd_memory_copy@ (id INTEGER PRIMARY KEY, track_id INT, start_id INT, end_id INT, name_id INT,
        dst_agent_id INT, src_agent_id INT, event_id INT);
    INSERT INTO rocpd_memory_copy@ VALUES (1, 2, 11, 12, 5, 2, 1, 4);
    CREATE TABLE rocpd_sample@ (id INTEGER PRIMARY KEY, track_id INT, name_id INT, timestamp_id INT, event_id INT);
    INSERT INTO rocpd_sample@ VALUES (1, 1, 6, 13, 6);";

fn imported(runs: &[(&str, &str, &str)]) -> Assembler {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = Connection::open(&path).unwrap();
    for (run, process, events) in runs {
        let sql = format!("{TABLES}{events}").replace('@', run).replace('$', process);
        connection.execute_batch(&sql).unwrap();
    }
    drop(connection);
    let mut into = Assembler::new(directory.path(), Arc::default());
    read(&path, &mut into).unwrap();
    into
}

const RUN: &str = "_00006409_00d1_70d1_a5cb_b5ab88214544";

#[test]
fn both_schemas_give_the_same_events() {
    let [three, two] = [SCHEMA_3, SCHEMA_2].map(|events| imported(&[(RUN, "700", events)]));
    let expected: BTreeMap<_, _> = [
        ("Call", "hipLaunchKernel", (10, 1)),
        ("Range", "step 1", (210, 1)),
        ("Mark", "roctxRangePushA", (0, 1)),
        ("Mark", "busy", (0, 1)),
        ("Kernel", "gemm(int)", (30, 1)),
        ("Kernel", "plain.kd", (1, 1)),
        ("Copy", "Memcpy HtoD", (20, 1)),
    ]
    .map(|(what, name, sum)| ((what.to_owned(), name.to_owned()), sum))
    .into();
    for into in [&three, &two] {
        assert_eq!(into.taken.sums(), expected);
        assert_eq!(into.taken.samples, [("SQ_WAVES".to_owned(), "waves".to_owned(), 150, 8.5)]);
        assert_eq!(into.all_not_imported().values().sum::<u64>(), 3);
        assert_eq!(into.not_imported_of("event without a begin and an end in order", "rocpd_kernel_dispatch"), 1);
        assert_eq!(into.not_imported_of("value without a time or counter", "rocpd_pmc_event"), 1);
        assert_eq!(into.damage(), [""; 0]);
        assert_eq!((into.about.host.as_str(), into.about.cpu.as_str(), into.about.process), ("node-a", "EPYC", 700));
        assert_eq!(into.named().1, [(4, "MI300X".to_owned())]);
        assert_eq!(into.taken.of(What::Kernel)[0].track, TrackOf::Stream { device: 4, stream: 3 });
        assert_eq!(into.taken.of(What::Call)[0].track, TrackOf::Thread { process: 700, thread: 701 });
    }
    assert_eq!(three.taken.events, two.taken.events);
}

#[test]
fn runs_that_were_merged_stay_apart() {
    let into = imported(&[(RUN, "700", SCHEMA_3), ("_11116409_00d1_70d1_a5cb_b5ab88214544", "800", SCHEMA_3)]);
    let calls = into.taken.of(What::Call);
    let kernels = into.taken.of(What::Kernel);
    assert_eq!((calls.len(), kernels.len()), (2, 4));
    for (call, kernels) in calls.iter().zip(kernels.chunks(2)) {
        assert!(kernels.iter().all(|kernel| kernel.correlation == call.correlation && kernel.correlation > 0));
    }
    assert_ne!(calls[0].correlation, calls[1].correlation);
    assert_eq!(kernels[2].track, TrackOf::Stream { device: 4, stream: (1 << 32) | 3 });
    assert_eq!(into.about.notes, ["The file has the tables of 2 runs of rocprofv3."]);
}

#[test]
fn tables_of_an_unknown_name_are_counted_and_a_single_run_gets_no_note() {
    let more = "CREATE TABLE rocpd_new@ (id INT); INSERT INTO rocpd_new@ VALUES (1), (2); CREATE TABLE other (id INT);";
    let into = imported(&[(RUN, "700", &format!("{SCHEMA_3}{more}"))]);
    assert_eq!(into.not_imported_of("rocpd event", &format!("rocpd_new{RUN}")), 2);
    assert_eq!(into.about.notes, [""; 0]);
}

#[test]
fn a_database_is_one_of_rocpd_by_its_events() {
    assert!(is_table("rocpd_kernel_dispatch") && is_table(&format!("rocpd_region{RUN}")));
    assert!(!is_table("rocpd_string") && !is_table("region"));
}

#[test]
fn names_of_tables_are_split_from_the_run() {
    assert_eq!(split("rocpd_info_process_0a"), Some(("rocpd_info_process", "_0a")));
    assert_eq!(split("rocpd_string"), Some(("rocpd_string", "")));
    assert_eq!(split("rocpd_event_sink"), None);
    assert_eq!(split("rocpd_event_1x"), None);
    assert_eq!(split("rocpd_event_ab"), None);
    assert_eq!(split("other"), None);
}
