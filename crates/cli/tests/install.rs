//! `scripts/install`: where it installs which parts, and that an uninstallation leaves nothing. The build is a
//! directory of small stand-ins.

mod process;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::{Ended, Workplace, end};

/// The names of the archives, one for each library in `abi/`.
const ARCHIVES: [&str; 7] = ["c", "ascendcl", "cudbg", "ort", "rocprofiler_sdk", "rocprofiler_v2", "roctx"];

/// The names of every vendor's library, which loaders look for.
const VENDORS: [&str; 6] = [
    "librocprofiler-sdk.so.1",
    "librocprofiler-sdk-roctx.so.1",
    "libroctx64.so.4",
    "librocprofiler64.so.2",
    "libascendcl.so",
    "libcudadebugger.so.1",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns a place with stand-ins for what cargo would build: a command that writes a page and scripts, and archives of
/// one or two functions.
fn built() -> Workplace {
    let place = Workplace::new();
    let command =
        "#!/bin/sh\ncase $1 in manual) mkdir -p \"$2\" && echo page >\"$2/opscope.1\" ;; *) echo script ;; esac\n";
    let command = place.write("built/opscope", command);
    // The functions that programs that are installed with a library are linked with.
    let code =
        "unsigned cudbgDebuggerCapabilities;\nint cudbgGetAPI(void) { return 0; }\nint cudbgMain(void) { return 0; }\n";
    place.write("stub.c", code);
    let run = |program: &str, arguments: &[&str]| {
        assert_eq!(end(Command::new(program).args(arguments).current_dir(place.path("."))).code, Some(0), "{program}");
    };
    run("chmod", &["+x", command.to_str().unwrap()]);
    run("cc", &["-fPIC", "-c", "stub.c", "-o", "stub.o"]);
    for name in ARCHIVES {
        run("ar", &["rc", &format!("built/libopscope_{name}.a"), "stub.o"]);
    }
    place
}

fn script(place: &Workplace, arguments: &[&str]) -> Ended {
    let mut command = Command::new(root().join("scripts/install"));
    command.args(arguments).current_dir(place.path(".")).env_remove("DESTDIR");
    end(command.env("OPSCOPE_BUILT", place.path("built")))
}

fn install(place: &Workplace, arguments: &[&str]) -> Ended {
    let ended = script(place, arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

#[test]
fn libraries_with_vendors_names_are_apart_unless_they_are_named() {
    let place = built();
    install(&place, &["plain"]);
    for name in ["lib/libopscope.so.0", "include/opscope.h", "include/opscope_producer.h", "share/man/man1/opscope.1"] {
        assert!(place.path("plain").join(name).is_file(), "{name}");
    }
    for name in VENDORS {
        assert!(!place.path("plain/lib").join(name).exists(), "{name} is in the way of the vendor's");
        assert!(place.path("plain/lib/opscope/vendor").join(name).is_file(), "{name}");
    }
    assert!(place.path("plain/lib/opscope/vendor/include/acl/acl.h").is_file());
    let found = place.text("plain/lib/opscope/vendor/lib/pkgconfig/rocprofiler-sdk.pc");
    assert!(found.contains("libdir=${prefix}/.\n"), "{found}");

    install(&place, &["all", "--only", "all"]);
    for name in VENDORS {
        assert!(place.path("all/lib").join(name).is_file(), "{name}");
    }
    assert!(!place.path("all/lib/opscope/vendor").exists());
    assert!(place.text("all/lib/pkgconfig/rocprofiler-sdk.pc").contains("libdir=${prefix}/lib\n"));
}

#[test]
fn only_the_parts_that_are_named_are_installed() {
    let place = built();
    install(&place, &["some", "--only", "c,roctx", "--only=ascendcl"]);
    let files = place.tree("some");
    for name in ["lib/libopscope.so", "lib/libroctx64.so.4", "lib/libascendcl.so", "bin/opscope-uninstall"] {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    for name in ["bin/opscope", "lib/librocprofiler-sdk.so.1", "lib/opscope", "share/man"] {
        assert!(!files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    // Another choice of parts replaces the first one, and nothing of it is left.
    install(&place, &["some", "--only", "command"]);
    assert!(!place.path("some/lib").exists() && place.path("some/bin/opscope").is_file());
    // The licences are those of the installed parts.
    let licences = |prefix: &str| place.text(&format!("{prefix}/share/doc/opscope/THIRD-PARTY.txt"));
    let command = licences("some");
    assert!(command.contains("\nclap_builder ") && command.contains("\ntract-core "), "{} bytes", command.len());
    install(&place, &["markers", "--only", "roctx"]);
    assert!(!licences("markers").contains("tract-core"));
    for (arguments, says) in [
        (&["p", "--only", "rocm"][..], "there is no part 'rocm'; the parts are: command c ort roctx"),
        (&["p", "--only", ","], "usage: scripts/install PREFIX"),
        (&["p", "--only"], "usage: scripts/install PREFIX"),
        (&["--uninstall", "p", "--only", "c"], "usage: scripts/install PREFIX"),
        (&[], "usage: scripts/install PREFIX"),
    ] {
        let ended = script(&place, arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        ended.says(&[says]);
    }
    assert!(!place.path("p").exists());
}

#[test]
fn the_installed_uninstaller_removes_what_was_installed_and_nothing_else() {
    let place = built();
    place.write("moved-from/lib/mine.so", "mine");
    install(&place, &["moved-from"]);
    // The script removes the installation that it belongs to, even after the installation was moved.
    fs::rename(place.path("moved-from"), place.path("to")).unwrap();
    let ended = end(&mut Command::new(place.path("to/bin/opscope-uninstall")));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(place.tree("to"), ["lib", "lib/mine.so"]);
    let again = end(Command::new(root().join("scripts/uninstall")).arg(place.path("to")));
    assert_eq!(again.code, Some(1), "{again:?}");
    again.says(&["error: nothing is installed in "]);
    install(&place, &["to"]);
    install(&place, &["--uninstall", "to"]);
    assert_eq!(place.tree("to"), ["lib", "lib/mine.so"]);
}

#[test]
fn one_program_runs_with_the_libraries_in_front() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = place.path().join("bin/opscope");
    fs::create_dir(place.path().join("bin")).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_opscope"), &program).unwrap();
    let opscope = |arguments: &[&str]| end(Command::new(&program).args(arguments).env("LD_LIBRARY_PATH", "/earlier"));
    let none = opscope(&["vendor-env", "true"]);
    none.refused(1, &["no library with a vendor's name is in ", "lib/opscope/vendor"]);

    let vendor = place.path().join("lib/opscope/vendor");
    fs::create_dir_all(&vendor).unwrap();
    fs::write(vendor.join("libascendcl.so"), "").unwrap();
    let vendor = vendor.display();
    let ended = opscope(&["vendor-env", "sh", "-c", "echo $LD_LIBRARY_PATH $0; exit 7", "--flag"]);
    assert_eq!((ended.code, ended.stdout), (Some(7), format!("{vendor}:/earlier --flag\n")));
    let line = opscope(&["vendor-env"]).stdout;
    assert_eq!(line, format!("export LD_LIBRARY_PATH={vendor}:/earlier\n"));
    opscope(&["vendor-env", "./no-such-program"]).refused(1, &["./no-such-program cannot be started: "]);

    // For cuda-gdb, a library is preloaded, and a variable tells it to serve cuda-gdb. Without a program there is
    // nothing to load it into.
    opscope(&["vendor-env", "--cuda-gdb", "true"]).refused(1, &["opscope/cudbg/libcuda.so.1 is missing"]);
    fs::create_dir_all(place.path().join("lib/opscope/vendor/opscope/cudbg")).unwrap();
    let driver = format!("{vendor}/opscope/cudbg/libcuda.so.1");
    fs::write(&driver, "").unwrap();
    let print = ["vendor-env", "--cuda-gdb", "/bin/sh", "-c", "echo $LD_PRELOAD $OPSCOPE_CUDA_GDB"];
    assert_eq!(opscope(&print).stdout, format!("{driver} 1\n"));
    opscope(&["vendor-env", "--cuda-gdb"]).refused(2, &["PROGRAM"]);
}
