use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use opscope_c_programs::{DIRECTORY, Library, Printed, Program, models};
use opscope_engine_onnxruntime::Library as OnnxRuntime;
use opscope_model::testing::skipped;
use tempfile::TempDir;

/// How a program gets to the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is linked with it.
    Linked,
    /// It opens its file, and looks the function up.
    Opened,
    /// It opens a library of its own that is linked with it.
    Plugin,
}

impl Way {
    pub const ALL: [Self; 3] = [Self::Linked, Self::Opened, Self::Plugin];
}

/// How `sessions.c` runs a session: options of the compiler.
pub const CALLS: [&str; 3] = ["-DPLAIN", "-DBOUND", "-DASYNC"];

/// ONNX Runtime, in a directory with the names that the linker and the loader look for.
pub struct Installed {
    directory: TempDir,
    file: PathBuf,
}

/// Returns the library; `None` if there is none, and then the test is skipped.
pub fn onnxruntime() -> Option<&'static Installed> {
    static FOUND: OnceLock<Result<Installed, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let file = OnnxRuntime::locate(None).map_err(|error| error.to_string())?;
        let file = fs::canonicalize(file).expect("its file");
        let directory = TempDir::new().expect("a directory");
        for name in ["libonnxruntime.so", "libonnxruntime.so.1"] {
            symlink(&file, directory.path().join(name)).expect("a link");
        }
        Ok(Installed { directory, file })
    });
    found.as_ref().inspect_err(|error| skipped(error.lines().next().unwrap_or_default())).ok()
}

impl Installed {
    /// A file of `tests/c` as a program. Nothing is preloaded.
    pub fn program(&self, source: &str, way: Way) -> Program {
        let program = Program::of(Library::Ort, source);
        let directory = self.directory.path().to_str().expect("UTF-8");
        let directory_option = format!("-L{directory}");
        let link = [directory_option.as_str(), "-lonnxruntime"];
        match way {
            Way::Linked => program.option("-DLINKED").options(&link).with("LD_LIBRARY_PATH", directory).argument("-"),
            Way::Plugin => program
                .option("-DENTRY=\"plugin_entry\"")
                .beside("plugin.c", "plugin.so", &link)
                .with("LD_LIBRARY_PATH", directory)
                .argument(format!("{DIRECTORY}/plugin.so")),
            Way::Opened => program.argument(self.file.to_str().expect("UTF-8")),
        }
    }

    /// `sessions.c` with the model of digits.
    pub fn digits(&self, way: Way, source: &str, threads: usize, runs: usize) -> Program {
        self.digits_in(way, source, &model("digits_cnn.onnx")).arguments([threads.to_string(), runs.to_string()])
    }

    /// The same without the numbers of threads and runs, with the model in this file.
    pub fn digits_in(&self, way: Way, source: &str, file: &str) -> Program {
        self.program("sessions.c", way).arguments([source, file, "image", &image(), "8,1,8,8", "probabilities"])
    }
}

/// Returns the program with the library preloaded.
pub fn preloaded(program: Program) -> Program {
    let file = Library::Ort.files().join("libopscope_ort.so");
    program.with("LD_PRELOAD", file.to_str().expect("UTF-8"))
}

pub fn model(name: &str) -> String {
    models().join(name).to_str().expect("UTF-8").to_owned()
}

pub fn image() -> String {
    model("digits_cnn.input.image.npy")
}

/// Runs a program without the library and with it, which must print the same. Returns what it printed with it.
#[track_caller]
pub fn same_with_and_without(program: &Program, with: &[(&str, &Path)]) -> Printed {
    let plain = program.run();
    assert_eq!(plain.stderr, "");
    let asked = with
        .iter()
        .fold(preloaded(program.clone()), |program, (name, value)| program.with(name, value.to_str().expect("UTF-8")));
    // Once: what is asked for is written.
    let printed = asked.run_as(opscope_c_programs::Language::C11);
    assert_eq!(printed.stdout, plain.stdout);
    assert!(!plain.stdout.is_empty());
    printed
}
