//! Runs `dumps.c`, which does what its arguments say.

use std::fs;
use std::path::Path;

use opscope_c_programs::{Language, models};
use tempfile::TempDir;

use super::streams::{Content, Stream};
use crate::models::SHAPES;
use crate::program;

/// What `dumps.c` does, with the files that it needs.
pub struct Scene {
    steps: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
    shapes: String,
    variables: Vec<(&'static str, &'static str)>,
    language: Option<Language>,
}

/// The result of the program.
pub struct Played {
    /// The directory where it ran.
    pub directory: TempDir,
    /// What it printed.
    pub stdout: String,
    pub stderr: String,
    /// What the callback received, in the order in which the files began.
    pub streams: Vec<Stream>,
}

/// The shapes of the inputs that the models' directory contains.
const SHAPES_OF_ALL: &str = "image:8,1,8,8;input_ids:4,41;hidden_states:2,16,64";

/// The directory where the program stores what the callback receives.
const COLLECTED: &str = "collected";

impl Scene {
    /// Steps, separated by spaces and line breaks. `MODELS` in a step stands for the directory of the models.
    pub fn new(steps: &str) -> Self {
        let steps = steps.split_whitespace().map(|step| step.replace("MODELS", models().to_str().expect("UTF-8")));
        Self {
            steps: steps.collect(),
            files: Vec::new(),
            shapes: SHAPES_OF_ALL.to_owned(),
            variables: Vec::new(),
            language: None,
        }
    }

    /// Adds a file to the directory where the program runs.
    pub fn with(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    /// Adds a file with this dump section.
    pub fn dumps(self, name: &str, section: &str) -> Self {
        self.with(name, format!(r#"{{"dump": {section}}}"#))
    }

    /// Sets the shapes of the models' inputs.
    pub fn shapes(self, shapes: &str) -> Self {
        Self { shapes: shapes.to_owned(), ..self }
    }

    /// Sets a variable of its environment.
    pub fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// Runs it as this language only.
    pub fn only(self, language: Language) -> Self {
        Self { language: Some(language), ..self }
    }

    /// Runs it as C and as C++, and passes each result to `check`.
    pub fn play(self, check: impl Fn(&Played)) {
        for language in Language::ALL {
            if self.language.is_none_or(|only| only == language) {
                check(&self.play_as(language));
            }
        }
    }

    /// Runs it as C and as C++, which must print this.
    pub fn prints(self, expected: &str) {
        self.play(|played| assert_eq!(played.stdout, expected, "{}", played.stderr));
    }

    fn play_as(&self, language: Language) -> Played {
        let directory = TempDir::new().expect("a directory");
        for name in ["dump", "other", COLLECTED] {
            fs::create_dir(directory.path().join(name)).expect("a directory");
        }
        for (name, content) in &self.files {
            fs::write(directory.path().join(name), content).expect("a file");
        }
        let program = program("dumps.c").with(SHAPES, self.shapes.clone()).inside(directory.path().to_owned());
        let program = self.variables.iter().fold(program, |program, (name, value)| program.with(name, *value));
        let program = program.argument(COLLECTED).arguments(&self.steps);
        let printed = program.run_as(language);
        let streams = collected(&directory.path().join(COLLECTED));
        Played { directory, stdout: printed.stdout, stderr: printed.stderr, streams }
    }
}

fn collected(directory: &Path) -> Vec<Stream> {
    let names = fs::read_to_string(directory.join("names")).expect("the names");
    let stream = |(number, name): (usize, &str)| {
        let bytes = fs::read(directory.join(number.to_string())).expect("a stream");
        Stream { name: name.to_owned(), bytes }
    };
    names.lines().enumerate().map(stream).collect()
}

impl Played {
    /// Returns all tensors that the callback received. Each stream must be a whole file.
    pub fn content(&self) -> Content {
        Content::of(&self.streams)
    }

    /// Returns the files under a directory of the program's, with their paths below that.
    pub fn files(&self, below: &str) -> Vec<Stream> {
        let root = self.directory.path().join(below);
        let mut found = Vec::new();
        let mut open = vec![root.clone()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).expect("a directory").map(|entry| entry.expect("an entry").path()) {
                if entry.is_dir() {
                    open.push(entry);
                    continue;
                }
                let name = entry.strip_prefix(&root).expect("below").to_str().expect("UTF-8").to_owned();
                found.push(Stream { name, bytes: fs::read(&entry).expect("a file") });
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }
}
