//! The library as a file, and the header of the programs here.

use std::collections::BTreeSet;
use std::fs;
use std::mem::offset_of;
use std::process::Command;

use opscope_c_programs::{Library, output_of};
use ort_sys::OrtApi;

#[test]
fn the_library_exports_the_two_functions_that_it_stands_in_for_and_nothing_else() {
    let file = Library::Ort.files().join("libopscope_ort.so");
    let listed = output_of(Command::new("nm").args(["-D", "--defined-only"]).arg(&file));
    let symbols: BTreeSet<&str> = listed.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(symbols, BTreeSet::from(["OrtGetApiBase", "dlsym"]));
    let text = output_of(Command::new("readelf").args(["-dlW"]).arg(&file));
    assert!(text.contains("soname: [libopscope_ort.so]"), "{text}");
    for flag in ["NODELETE", "BIND_NOW", "GNU_RELRO"] {
        assert!(text.contains(flag), "{flag} is missing:\n{text}");
    }
}

#[test]
fn the_library_has_no_embedded_engine() {
    let file = fs::read(Library::Ort.files().join("libopscope_ort.so")).expect("a file");
    let has = |text: &str| file.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("onnxruntime") && !has("tract_core::ops"), "tract is in it");
}

#[test]
fn the_header_of_these_programs_has_the_positions_of_the_library() {
    macro_rules! positions {
        ($($name:ident),* $(,)?) => {
            [$((stringify!($name), offset_of!(OrtApi, $name) / size_of::<usize>())),*]
        };
    }
    let positions = positions![
        CreateStatus,
        GetErrorCode,
        GetErrorMessage,
        CreateEnv,
        CreateEnvWithCustomLogger,
        CreateEnvWithGlobalThreadPools,
        CreateEnvWithCustomLoggerAndGlobalThreadPools,
        CreateThreadingOptions,
        ReleaseThreadingOptions,
        CreateSession,
        CreateSessionFromArray,
        Run,
        CreateSessionOptions,
        CloneSessionOptions,
        SetIntraOpNumThreads,
        CreateCustomOpDomain,
        CustomOpDomain_Add,
        AddCustomOpDomain,
        CreateTensorWithDataAsOrtValue,
        GetTensorMutableData,
        GetTensorShapeElementCount,
        GetTensorTypeAndShape,
        CreateCpuMemoryInfo,
        AllocatorFree,
        GetAllocatorWithDefaultOptions,
        KernelContext_GetInput,
        KernelContext_GetOutput,
        ReleaseEnv,
        ReleaseStatus,
        ReleaseMemoryInfo,
        ReleaseSession,
        ReleaseValue,
        ReleaseTensorTypeAndShapeInfo,
        ReleaseSessionOptions,
        ReleaseCustomOpDomain,
        RunWithBinding,
        CreateIoBinding,
        ReleaseIoBinding,
        BindInput,
        BindOutput,
        BindOutputToDevice,
        GetBoundOutputValues,
        ClearBoundInputs,
        CreatePrepackedWeightsContainer,
        ReleasePrepackedWeightsContainer,
        CreateSessionWithPrepackedWeightsContainer,
        RunAsync,
    ];
    let header = fs::read_to_string(Library::Ort.root().join("tests/c/ort.h")).expect("a header");
    let lines = header.lines().filter_map(|line| line.trim().trim_end_matches(',').split_once(" = "));
    let written: BTreeSet<(&str, usize)> =
        lines.filter_map(|(name, number)| Some((name, number.parse().ok()?))).collect();
    assert_eq!(written, BTreeSet::from(positions));
}
