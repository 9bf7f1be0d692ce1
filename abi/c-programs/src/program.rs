//! A program: how it is compiled, and what it is run with.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use opscope_sys::Mutex;
use tempfile::TempDir;

use crate::command::{Language, succeeds};
use crate::library::{Library, built};
use crate::loaded::Loaded;
use crate::running::{Printed, Running};

/// Stands for the program's own directory in its variables, in its arguments, and in what it printed.
pub const DIRECTORY: &str = "{directory}";

/// How long a program may run. One that hangs fails its test, which would otherwise never end.
const SECONDS: &str = "600";

/// The environment variables that a program inherits: the directories of temporary files and of sockets.
const KEPT: [&str; 2] = ["TMPDIR", "XDG_RUNTIME_DIR"];

/// The environment variable that names a command to run the programs with, such as `valgrind --quiet`. The programs
/// then have three times as long.
const RUNNER: &str = "OPSCOPE_C_PROGRAMS_RUNNER";

/// A program to compile and run. It runs in a directory of its own, which contains only the files that are put beside
/// it.
#[derive(Clone, Debug)]
pub struct Program {
    library: Library,
    source: PathBuf,
    /// Other files of the program.
    more: Vec<PathBuf>,
    languages: &'static [Language],
    headers: Option<PathBuf>,
    used: Vec<Library>,
    options: Vec<String>,
    beside: Vec<Beside>,
    copies: Vec<PathBuf>,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
    runs_in: Option<PathBuf>,
}

/// A shared library to compile.
#[derive(Clone, Debug)]
struct Beside {
    source: PathBuf,
    name: String,
    options: Vec<String>,
    /// Whether the program is linked with it.
    is_linked: bool,
}

impl Program {
    /// Returns a program whose source is a file in `tests/c` of the library's crate, or a file with an absolute path.
    /// The compiler finds the library's headers; an option such as `-lopscope` links the library. A C file is compiled
    /// as C++, too.
    pub fn of(library: Library, source: impl AsRef<Path>) -> Self {
        let source = library.root().join("tests/c").join(source);
        let is_c = source.extension().is_some_and(|extension| extension == "c");
        Self {
            library,
            source,
            more: Vec::new(),
            languages: if is_c { &Language::ALL } else { &[Language::Cxx17] },
            headers: None,
            used: Vec::new(),
            options: Vec::new(),
            beside: Vec::new(),
            copies: Vec::new(),
            variables: Vec::new(),
            arguments: Vec::new(),
            runs_in: None,
        }
    }

    /// Adds another file to the program, in the same language.
    pub fn and(mut self, source: PathBuf) -> Self {
        self.more.push(source);
        self
    }

    /// Searches this directory for headers before the library's own.
    pub fn headers(mut self, directory: PathBuf) -> Self {
        self.headers = Some(directory);
        self
    }

    /// Lets the compiler find the headers and the files of another library. To find that library when it runs, the
    /// program needs the option [`Library::rpath`], or an environment variable.
    pub fn uses(mut self, library: Library) -> Self {
        self.used.push(library);
        self
    }

    /// Adds an option of the compiler.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Adds options of the compiler.
    pub fn options(self, options: &[&str]) -> Self {
        options.iter().fold(self, |program, option| program.option(*option))
    }

    /// Compiles another file of `tests/c` as a shared library of this name in the program's directory.
    pub fn beside(mut self, source: &str, name: &str, options: &[&str]) -> Self {
        self.beside.push(self.shared(source.as_ref(), name, options, false));
        self
    }

    /// Does the same as [`beside`](Self::beside), and links the program with that library, before the libraries that
    /// its options name. The source may be an absolute path.
    pub fn linked_beside(mut self, source: impl AsRef<Path>, name: &str, options: &[&str]) -> Self {
        self.beside.push(self.shared(source.as_ref(), name, options, true));
        self
    }

    fn shared(&self, source: &Path, name: &str, options: &[&str], is_linked: bool) -> Beside {
        let source = self.library.root().join("tests/c").join(source);
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Beside { source, name: name.to_owned(), options, is_linked }
    }

    /// Copies a file into the program's directory.
    pub fn copy_of(mut self, file: PathBuf) -> Self {
        self.copies.push(file);
        self
    }

    /// Sets an environment variable. If it is set again, the last value counts. The program inherits only the variables
    /// that name the directories of temporary files and sockets.
    pub fn with(mut self, variable: &str, value: impl Into<String>) -> Self {
        self.variables.push((variable.to_owned(), value.into()));
        self
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    pub fn arguments<A: Into<String>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::argument)
    }

    /// Runs it in this directory instead of its own.
    pub fn inside(mut self, directory: PathBuf) -> Self {
        self.runs_in = Some(directory);
        self
    }

    /// Runs it in each of its languages. It must exit with 0. Returns what it printed, which is the same in all.
    #[track_caller]
    pub fn run(&self) -> Printed {
        let (first, others) = self.languages.split_first().expect("a language");
        let printed = self.run_as(*first);
        for language in others {
            assert_eq!(printed, self.run_as(*language), "C and C++ behave alike");
        }
        printed
    }

    /// Runs it in each of its languages. It must exit with 0 and print nothing.
    #[track_caller]
    pub fn run_silently(&self) {
        assert_eq!(self.run(), Printed { stdout: String::new(), stderr: String::new() });
    }

    /// Runs it in one language. It must exit with 0. Returns what it printed.
    #[track_caller]
    pub fn run_as(&self, language: Language) -> Printed {
        let (directory, mut command) = self.command(language);
        let output = succeeds(&mut command);
        let path = directory.path().to_str().expect("UTF-8");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8").replace(path, DIRECTORY);
        Printed { stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Starts it in one language.
    pub fn start(&self, language: Language) -> Running {
        let (directory, command) = self.command(language);
        Running::start(command, directory)
    }

    /// Returns the program's directory, and a command whose child is the program.
    fn command(&self, language: Language) -> (TempDir, Command) {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().to_str().expect("UTF-8");
        for beside in &self.beside {
            fs::copy(self.compile_beside(beside, language), directory.path().join(&beside.name)).expect("a copy");
        }
        for file in &self.copies {
            fs::copy(file, directory.path().join(file.file_name().expect("a name"))).expect("a copy");
        }
        let here = |text: &str| text.replace(DIRECTORY, path);
        let runner = std::env::var(RUNNER).unwrap_or_default();
        let seconds = if runner.is_empty() { SECONDS } else { "1800" };
        let mut command = Command::new("timeout");
        // `env` sets the variables, so that only the program sees them: `timeout` must not load a library that
        // LD_PRELOAD names for the program.
        command.env_clear().args(["-s", "ABRT", seconds, "env"]);
        let kept = KEPT.iter().filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)));
        command.args(kept);
        command.args(self.variables.iter().map(|(name, value)| format!("{name}={}", here(value))));
        command.args(runner.split_whitespace()).arg(self.compile(language));
        command.args(self.arguments.iter().map(|argument| here(argument)));
        command.current_dir(self.runs_in.as_deref().unwrap_or(directory.path()));
        (directory, command)
    }

    /// Compiles it, if this process has not done that before. Returns the executable's path.
    pub fn compile(&self, language: Language) -> PathBuf {
        let linked: Vec<&Beside> = self.beside.iter().filter(|beside| beside.is_linked).collect();
        let made = linked.iter().map(|beside| self.compile_beside(beside, language));
        let directories: Vec<PathBuf> = made.filter_map(|made| Some(made.parent()?.to_owned())).collect();
        let mut compiler = self.compiler(language, self.sources(), &directories);
        // The program needs them even if it uses none of their functions.
        compiler.arg("-Wl,--push-state,--no-as-needed");
        compiler.args(linked.iter().map(|beside| format!("-l:{}", beside.name))).arg("-Wl,--pop-state");
        compiler.args(&self.options).args([&*self.library.rpath(), "-lpthread", "-ldl"]);
        made_once(self.source.file_stem().expect("a name"), compiler)
    }

    /// Compiles it as a shared library, and loads that into this process.
    pub fn load(&self, language: Language) -> Loaded {
        let mut compiler = self.compiler(language, self.sources(), &[]);
        compiler.args(["-shared", "-fPIC"]).args(&self.options).arg(self.library.rpath());
        compiler.args(self.used.iter().map(|library| library.rpath()));
        Loaded::open(&made_once(self.source.file_stem().expect("a name"), compiler))
    }

    /// Compiles it as a shared library with this path.
    pub fn compile_shared(&self, language: Language, to: &Path) {
        let mut compiler = self.compiler(language, self.sources(), &[]);
        succeeds(compiler.args(["-shared", "-fPIC"]).args(&self.options).arg("-o").arg(to));
    }

    fn compile_beside(&self, beside: &Beside, language: Language) -> PathBuf {
        let mut compiler = self.compiler(language, [&beside.source], &[]);
        compiler.args(["-shared", "-fPIC"]).args(&beside.options);
        made_once(beside.name.as_ref(), compiler)
    }

    fn sources(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.source].into_iter().chain(&self.more)
    }

    /// Returns a compiler command for these files, with the directories of headers and libraries. It searches
    /// `directories` for libraries first, because one there may have the name of a library of ours.
    fn compiler<'a>(
        &self,
        language: Language,
        sources: impl IntoIterator<Item = &'a PathBuf>,
        directories: &[PathBuf],
    ) -> Command {
        let libraries = || [self.library].into_iter().chain(self.used.iter().copied());
        let mut compiler = language.compiler();
        // What users compile with libopscope is plain C.
        if self.library != Library::Opscope {
            compiler.arg("-D_GNU_SOURCE");
        }
        if let Some(directory) = &self.headers {
            compiler.arg("-I").arg(directory);
        }
        compiler.args(libraries().flat_map(Library::header_options)).args(sources).args(["-x", "none"]);
        let searched = directories.iter().cloned().chain(libraries().map(|library| library.files().to_owned()));
        for directory in searched {
            compiler.arg("-L").arg(directory);
        }
        compiler
    }
}

/// Writes code that is not a file of the repository, such as an example in a README, to a file. Returns its path, which
/// is the same for the same code.
pub fn source(name: &str, code: &str) -> PathBuf {
    let directory = built().join("sources").join(hash_of(code));
    fs::create_dir_all(&directory).expect("a directory");
    // Other test processes may do the same at the same time.
    let made = TempDir::new_in(&directory).expect("a directory");
    fs::write(made.path().join(name), code).expect("a file");
    fs::rename(made.path().join(name), directory.join(name)).expect("the file's place");
    directory.join(name)
}

/// Runs a compiler command, if this process has not run the same one before. Returns the path of its output file, which
/// has this name.
fn made_once(name: &OsStr, mut compiler: Command) -> PathBuf {
    static MADE: Mutex<Option<HashMap<String, Arc<OnceLock<PathBuf>>>>> = Mutex::new(None);
    let how = format!("{compiler:?}");
    let one = {
        let mut all = MADE.lock();
        Arc::clone(all.get_or_insert_default().entry(how.clone()).or_default())
    };
    one.get_or_init(|| {
        let directory = built().join("programs").join(hash_of(&how));
        fs::create_dir_all(&directory).expect("a directory");
        // Other test processes may do the same at the same time.
        let made = TempDir::new_in(&directory).expect("a directory");
        succeeds(compiler.arg("-o").arg(made.path().join(name)));
        fs::rename(made.path().join(name), directory.join(name)).expect("the file's place");
        directory.join(name)
    })
    .clone()
}

fn hash_of(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
