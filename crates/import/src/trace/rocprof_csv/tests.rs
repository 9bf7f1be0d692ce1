use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::trace::assemble::TrackOf;
use crate::trace::event::What;

const KERNELS: &str = "\
\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"
\"KERNEL_DISPATCH\",\"Agent 4\",1,2,70,\"gemm(float*, int)\",12,1000,1500
\"KERNEL_DISPATCH\",\"Agent 4\",1,2,70,\"relu\",13,1500
\"KERNEL_DISPATCH\",5,1,2,70,\"relu\",13,1500,1501
\"KERNEL_DISPATCH\",5,1,2,70,\"relu\",13,9,8
";
const CALLS: &str = "\
\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"
\"HIP_RUNTIME_API\",\"hipLaunchKernel\",69,70,12,900,950
\"HIP_RUNTIME_API\",\"hipLaunchKernel\",69,70,13,950,960
";
const MARKERS: &str = "\
\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"
\"MARKER_CORE_API\",\"step, the first\",69,70,11,800,2000
\"MARKER_CORE_API\",\"here\",69,0,14,800,800
";
const COPIES: &str = "\
\"Kind\",\"Direction\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"
\"MEMORY_COPY\",\"HOST_TO_DEVICE\",0,4,15,600,700
\"MEMORY_COPY\",\"MEMORY_COPY_DEVICE_TO_HOST\",\"Agent 5\",\"Agent 0\",16,700,750
";
const AGENTS_FILE: &str = "\
\"Node_Id\",\"Agent_Type\",\"Name\",\"Product_Name\"
0,\"CPU\",\"EPYC\",\"EPYC\"
4,\"GPU\",\"gfx942\",\"MI300X\"
";

fn taken(files: &[(&str, &str)], first: &str) -> Assembler {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let mut into = Assembler::new(directory.path(), Arc::default());
    read(&directory.path().join(first), &mut into).unwrap();
    into
}

#[test]
fn the_files_of_a_process_are_read_together() {
    let files = [
        ("70_kernel_trace.csv", KERNELS),
        ("70_hip_api_trace.csv", CALLS),
        ("70_marker_api_trace.csv", MARKERS),
        ("70_memory_copy_trace.csv", COPIES),
        ("70_agent_info.csv", AGENTS_FILE),
        ("71_hip_api_trace.csv", CALLS),
        ("70_kernel_stats.csv", "\"Name\",\"Calls\"\n"),
    ];
    let into = taken(&files, "70_hip_api_trace.csv");
    let expected: BTreeMap<_, _> = [
        ("Kernel", "gemm(float*, int)", (500, 1)),
        ("Kernel", "relu", (1, 1)),
        ("Call", "hipLaunchKernel", (60, 2)),
        ("Range", "step, the first", (1200, 1)),
        ("Mark", "here", (0, 1)),
        ("Copy", "Memcpy HtoD", (100, 1)),
        ("Copy", "Memcpy DtoH", (50, 1)),
    ]
    .map(|(what, name, sum)| ((what.to_owned(), name.to_owned()), sum))
    .into();
    assert_eq!(into.taken.sums(), expected);
    assert_eq!(into.not_imported_of("damaged line", "kernel"), 2);
    assert_eq!(into.all_not_imported().len(), 1);
    let [damage] = into.damage() else { panic!("{:?}", into.damage()) };
    assert!(
        damage.ends_with(
            "kernel_trace.csv: 2 lines lack a name or a begin and end in order, and are left out; the first is line 3"
        ),
        "{damage}"
    );
    let kernels = into.taken.of(What::Kernel);
    assert_eq!([kernels[0].correlation, kernels[1].correlation], [12, 13]);
    assert_eq!(kernels[0].track, TrackOf::Stream { device: 4, stream: 2 });
    assert_eq!(into.taken.of(What::Mark)[0].track, TrackOf::Thread { process: 69, thread: 69 });
    assert_eq!(into.named().1, [(4, "MI300X".to_owned())]);
    assert_eq!((into.about.cpu.as_str(), into.about.process), ("EPYC", 69));
}

#[test]
fn a_file_of_another_name_is_read_alone() {
    let into = taken(&[("mine.csv", KERNELS), ("70_hip_api_trace.csv", CALLS)], "mine.csv");
    assert_eq!(into.taken.events.len(), 2);
    assert_eq!(into.about.notes, [""; 0]);
    let alone = taken(&[("70_hip_api_trace.csv", CALLS)], "70_hip_api_trace.csv");
    assert_eq!((alone.taken.events.len(), alone.about.notes.len()), (2, 0));
    let two = taken(&[("7_kernel_trace.csv", KERNELS), ("7_hip_api_trace.csv", CALLS)], "7_kernel_trace.csv");
    assert_eq!(two.taken.events.len(), 4);
    assert!(two.about.notes[0].starts_with("Read together: 7_"), "{:?}", two.about.notes);
}

#[test]
fn a_quote_that_is_not_closed_ends_the_file_and_is_named() {
    let text = format!("{CALLS}\"HIP_RUNTIME_API\",\"{}", "x".repeat(3 << 20));
    let into = taken(&[("a.csv", &text)], "a.csv");
    assert_eq!(into.taken.events.len(), 2);
    assert!(into.damage()[0].contains("is a quote not closed?"), "{:?}", into.damage());
}

#[test]
fn only_a_line_may_not_be_too_long() {
    // Each line is shorter than the limit, all of them are longer.
    let line = format!("\"HIP_RUNTIME_API\",\"{}\",69,70,12,900,950\n", "x".repeat(1_000_000));
    let into = taken(&[("a.csv", &format!("{CALLS}{line}{line}{line}"))], "a.csv");
    assert_eq!((into.taken.events.len(), into.damage().len()), (5, 0), "{:?}", into.damage());
}

#[test]
fn only_files_with_its_columns_are_taken_for_its_own() {
    for text in [KERNELS, CALLS, MARKERS, COPIES, AGENTS_FILE] {
        assert!(is_rocprof(text.as_bytes()));
    }
    for text in ["", "a,b\n1,2\n", "\"Name\",\"Calls\"\n", "{\"traceEvents\": []}"] {
        assert!(!is_rocprof(text.as_bytes()));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0..600_usize) {
        let mut text = KERNELS.as_bytes().to_vec();
        let at = at.min(text.len());
        text.splice(at..at, bytes);
        let mut into = Assembler::new(Path::new("."), Arc::default());
        read_from(text.as_slice(), Path::new("a.csv"), &mut into).unwrap();
        prop_assert!(into.taken.events.len() <= 405);
    }
}
