use std::collections::BTreeMap;

use rusqlite::Connection;

use super::*;
use crate::trace::assemble::TrackOf;
use crate::trace::event::What;

/// Two processes with a device each, which both call device 0; a graph, ranges, and what is damaged.
const EXPORT: &str = "
    CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaGraphLaunch_v10000'), (3, 'gemm<float>(int)'),
        (4, 'gemm'), (5, 'relu'), (6, 'main thread'), (7, 'forward'), (8, 'NCCL'), (9, 'poll');
    CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100'), (1, 'NVIDIA H200');
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 10), (1, 0, 11);
    CREATE TABLE PROCESSES (globalPid INT, pid INT, name TEXT);
    INSERT INTO PROCESSES VALUES (9 << 24, 9, 'bash'), (10 << 24, 10, 'python3');
    CREATE TABLE ThreadNames (nameId INT, globalTid INT);
    INSERT INTO ThreadNames VALUES (6, (10 << 24) + 100);
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '');
    CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
    INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.1.1'), ('EXPORT_SCHEMA_VERSION', '3.17');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
        correlationId INT, globalPid INT, demangledName INT, shortName INT, graphId INT, graphNodeId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
        (120, 150, 0, 1, 7, 1, 10 << 24, 3, 4, NULL, NULL),
        (200, 210, 0, 1, 7, 2, 10 << 24, 99, 5, 1, 1), (210, 225, 0, 1, 7, 2, 10 << 24, 3, 4, 1, 2),
        (130, 131, 0, 1, 7, 1, 11 << 24, 3, 4, NULL, NULL), (9, 8, 0, 1, 7, 3, 10 << 24, 3, 4, NULL, NULL);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT, streamId INT,
        correlationId INT, globalPid INT, bytes INT, copyKind INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (300, 310, 0, 1, 13, 4, 10 << 24, 4096, 1),
        (310, 320, 0, 1, 13, 5, 10 << 24, 4096, 10), (320, 330, 0, 1, 13, 5, 10 << 24, 4096, 11);
    CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INT, name TEXT, label TEXT);
    INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (11, 'X', 'Unified Host-to-Device');
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, deviceId INT, streamId INT, globalPid INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (400, 401, 0, 7, 10 << 24);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, (10 << 24) + 100, 1, 1),
        (160, 170, (10 << 24) + 100, 2, 2), (100, 105, (11 << 24) + 11, 1, 1);
    CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
    INSERT INTO OSRT_API VALUES (500, 600, (10 << 24) + 101, 1, 9);
    CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT, domainId INT);
    INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, NULL, 8, 10 << 24, 5), (90, 200, 59, NULL, 7, (10 << 24) + 100, 0),
        (95, 99, 60, 'ncclAllReduce', NULL, (10 << 24) + 100, 5), (91, NULL, 34, 'here', NULL, (10 << 24) + 100, 0),
        (580, NULL, 59, 'open', NULL, (10 << 24) + 100, 0), (1, 2, 61, 'x', NULL, 0, 0), (1, 2, 33, 'c', NULL, 0, 0);
    CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, bytes INT, memoryOperationType INT);
    INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (10, 0, 0, 100, 0), (20, 0, 0, 40, 1), (30, 0, 0, 1, 7);
    CREATE TABLE GPU_METRICS (timestamp INT, typeId INT, metricId INT, value INT);
    INSERT INTO GPU_METRICS VALUES (50, 256, 1, 77);
    CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INT, metricId INT, metricName TEXT);
    INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 1, 'SMs Active [Throughput %]');
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, contextId INT, streamId INT,
        correlationId INT, globalPid INT, syncType INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (410, 420, 0, 1, 7, 6, 10 << 24, 3);
    CREATE TABLE SCHED_EVENTS (start INT, cpu INT);
    INSERT INTO SCHED_EVENTS VALUES (1, 1), (2, 1);
    CREATE VIEW CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS SELECT * FROM SCHED_EVENTS;
";

fn imported(sql: &str) -> Assembler {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.sqlite");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let mut into = Assembler::new(directory.path(), Arc::default());
    read(&path, &mut into).unwrap();
    into
}

#[test]
fn every_event_is_imported_or_counted() {
    let into = imported(EXPORT);
    let expected: BTreeMap<_, _> = [
        ("Kernel", "gemm<float>(int)", (46, 3)),
        ("Kernel", "relu", (10, 1)),
        ("Copy", "Memcpy HtoD", (10, 1)),
        ("Copy", "Memcpy PtoP", (10, 1)),
        ("Copy", "Memcpy Unified Host-to-Device", (10, 1)),
        ("Copy", "Memset (Device)", (1, 1)),
        ("DeviceRange", "Stream Sync", (10, 1)),
        ("Call", "cudaLaunchKernel", (15, 2)),
        ("Call", "cudaGraphLaunch", (10, 1)),
        ("Range", "poll", (100, 1)),
        ("Range", "forward", (110, 1)),
        ("Range", "NCCL: ncclAllReduce", (4, 1)),
        ("Range", "open", (20, 1)),
        ("Mark", "here", (0, 1)),
    ]
    .map(|(what, name, sum)| ((what.to_owned(), name.to_owned()), sum))
    .into();
    assert_eq!(into.taken.sums(), expected);
    let not_imported: BTreeMap<_, _> = [
        ("event without a begin and an end in order", "CUPTI_ACTIVITY_KIND_KERNEL", 1),
        ("NVTX event of an unknown type", "61", 1),
        ("Nsight Systems event", "SCHED_EVENTS", 2),
        ("allocation of an unknown kind", "CUDA_GPU_MEMORY_USAGE_EVENTS", 1),
    ]
    .map(|(kind, name, times)| ((kind.to_owned(), name.to_owned()), times))
    .into();
    assert_eq!(into.all_not_imported(), not_imported);
    assert_eq!(into.damage(), [""; 0]);
    assert_eq!(
        into.taken.samples,
        [
            ("GPU 0: SMs Active [Throughput %]".to_owned(), String::new(), 50, 77.0),
            ("GPU 0: allocated memory".to_owned(), "bytes".to_owned(), 10, 100.0),
            ("GPU 0: allocated memory".to_owned(), "bytes".to_owned(), 20, 60.0),
        ]
    );
}

#[test]
fn kernels_are_tied_to_their_launches_of_the_same_process() {
    let into = imported(EXPORT);
    let calls: BTreeMap<u64, (TrackOf, u64)> =
        into.taken.of(What::Call).iter().map(|call| (call.correlation, (call.track, call.start))).collect();
    assert_eq!(calls.len(), 3);
    let launched: Vec<_> =
        into.taken.of(What::Kernel).iter().map(|kernel| (kernel.track, calls[&kernel.correlation])).collect();
    let thread = TrackOf::Thread { process: 10, thread: 100 };
    let other = TrackOf::Thread { process: 11, thread: 11 };
    let [first, second] = [0, 1].map(|device| TrackOf::Stream { device, stream: 7 });
    assert_eq!(
        launched,
        [(first, (thread, 100)), (first, (thread, 160)), (first, (thread, 160)), (second, (other, 100))]
    );
}

#[test]
fn what_the_export_says_about_itself_is_taken() {
    let into = imported(EXPORT);
    assert_eq!((into.about.producer.as_str(), into.about.version.as_str()), ("Nsight Systems", "2025.1.1"));
    assert_eq!((into.about.process, into.about.program.as_str()), (10, "python3"));
    assert_eq!(into.about.zero_unix_ns, Some(1_700_000_000_000_000_000));
    let (tracks, devices) = into.named();
    assert_eq!(tracks, [(TrackOf::Thread { process: 10, thread: 100 }, "main thread".to_owned())]);
    assert_eq!(devices, [(0, "NVIDIA H100".to_owned()), (1, "NVIDIA H200".to_owned())]);
    assert_eq!(into.about.notes, ["1 NVTX ranges were open when the recording ended; they end there."]);
}

#[test]
fn where_it_was_recorded_is_taken_from_any_of_its_tables() {
    let about = |sql: &str| {
        let about = imported(&format!("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT); {sql}")).about;
        (about.host, about.cpu, about.version)
    };
    let texts = |host: &str, cpu: &str, version: &str| (host.to_owned(), cpu.to_owned(), version.to_owned());
    for name in ["HOSTNAME", "SYSTEM_HOSTNAME"] {
        let sql = format!(
            "CREATE TABLE META_DATA_CAPTURE (name, value); INSERT INTO META_DATA_CAPTURE VALUES ('{name}', 'node-a')"
        );
        assert_eq!(about(&sql), texts("node-a", "", ""));
    }
    for name in ["CPU description", "CPU Description"] {
        let sql = format!(
            "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value);
             INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node-b'), ('{name}', 'EPYC'), ('other', 'x')"
        );
        assert_eq!(about(&sql), texts("node-b", "EPYC", ""));
    }
    // The first version that is there; without one, that of the schema.
    for (values, version) in [
        ("('EXPORT_SCHEMA_VERSION', '3.1'), ('PRODUCT_VERSION', '2024.5'), ('NSYS_VERSION', '2020')", "2024.5"),
        ("('EXPORT_SCHEMA_VERSION', '3.1')", "schema 3.1"),
    ] {
        let sql = format!("CREATE TABLE META_DATA_EXPORT (name, value); INSERT INTO META_DATA_EXPORT VALUES {values}");
        assert_eq!(about(&sql), texts("", "", version));
    }
}

#[test]
fn a_table_without_times_is_named_and_its_rows_are_counted() {
    let into = imported(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, stop INT); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2)",
    );
    assert_eq!(into.not_imported_of("table without a needed column", "CUPTI_ACTIVITY_KIND_KERNEL"), 1);
    assert_eq!(
        into.about.notes,
        ["The table CUPTI_ACTIVITY_KIND_KERNEL has no column end, so none of its rows is read."]
    );
}
