//! The line of the program that is being executed.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use opscope::debug::CodeFrame;
use opscope::onnx::SourceLine;
use pyo3::intern;
use pyo3::prelude::*;

use crate::failure::Failure;

/// Finds lines of the program: those that are neither in PyTorch, in this package, nor in Python's own library.
pub struct Frames {
    getframe: Py<PyAny>,
    linecache: Py<PyAny>,
    /// The directories whose files are not the program's.
    foreign: Vec<String>,
    /// The file of each code object, if it is the program's. The code objects are kept, so that no other gets their
    /// address.
    codes: HashMap<usize, (Py<PyAny>, Option<String>)>,
    /// The line of each instruction, by its code object and its offset. The offset is cheap to read; the line is not.
    lines: HashMap<(usize, i32), Arc<SourceLine>>,
}

impl Frames {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let directory = |module: &str| -> PyResult<String> {
            let file: String = py.import(module)?.getattr("__file__")?.extract()?;
            Ok(file.rsplit_once('/').map_or(file.clone(), |(directory, _)| format!("{directory}/")))
        };
        let foreign = vec![directory("torch")?, directory("opscope")?, directory("contextlib")?];
        Ok(Self {
            getframe: py.import("sys")?.getattr("_getframe")?.unbind(),
            linecache: py.import("linecache")?.unbind().into_any(),
            foreign,
            codes: HashMap::new(),
            lines: HashMap::new(),
        })
    }

    /// Returns the innermost line of the program on this thread.
    pub fn line(&mut self, py: Python<'_>) -> Option<Arc<SourceLine>> {
        let mut frame = self.getframe.bind(py).call0().ok()?;
        loop {
            let code = frame.getattr(intern!(py, "f_code")).ok()?;
            let address = code.as_ptr() as usize;
            if self.is_program(&code) {
                let instruction: i32 = frame.getattr(intern!(py, "f_lasti")).ok()?.extract().ok()?;
                if let Some(known) = self.lines.get(&(address, instruction)) {
                    return Some(Arc::clone(known));
                }
                let line: u32 = frame.getattr(intern!(py, "f_lineno")).ok()?.extract().ok()?;
                let source = Arc::new(self.source(py, address, line));
                self.lines.insert((address, instruction), Arc::clone(&source));
                return Some(source);
            }
            frame = frame.getattr(intern!(py, "f_back")).ok()?;
            if frame.is_none() {
                return None;
            }
        }
    }

    /// Returns the calls of the program on this thread that have not returned, innermost first.
    pub fn calls(&mut self, py: Python<'_>) -> PyResult<Vec<CodeFrame>> {
        let mut calls = Vec::new();
        let mut frame = self.getframe.bind(py).call0()?;
        while !frame.is_none() {
            let code = frame.getattr(intern!(py, "f_code"))?;
            if self.is_program(&code) {
                let line: u32 = frame.getattr(intern!(py, "f_lineno"))?.extract()?;
                let function: String = code.getattr(intern!(py, "co_name"))?.extract()?;
                calls.push(CodeFrame { function, source: self.source(py, code.as_ptr() as usize, line) });
            }
            frame = frame.getattr(intern!(py, "f_back"))?;
        }
        Ok(calls)
    }

    /// Returns the innermost call of the program on this thread; `None` if there is none.
    fn innermost<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut frame = self.getframe.bind(py).call0()?;
        while !frame.is_none() && !self.is_program(&frame.getattr(intern!(py, "f_code"))?) {
            frame = frame.getattr(intern!(py, "f_back"))?;
        }
        Ok(Some(frame).filter(|frame| !frame.is_none()))
    }

    fn is_program(&mut self, code: &Bound<'_, PyAny>) -> bool {
        let foreign = &self.foreign;
        let (_, file) = self.codes.entry(code.as_ptr() as usize).or_insert_with(|| {
            let file: Option<String> = code.getattr("co_filename").and_then(|file| file.extract()).ok();
            (code.clone().unbind(), file.filter(|file| is_of_program(file, foreign)))
        });
        file.is_some()
    }

    fn source(&self, py: Python<'_>, code: usize, line: u32) -> SourceLine {
        let file = self.codes.get(&code).and_then(|(_, file)| file.clone()).unwrap_or_default();
        let text = self.linecache.bind(py).call_method1("getline", (&file, line));
        let text: Option<String> = text.and_then(|text| text.extract()).ok();
        let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        SourceLine { file, line, code: text }
    }
}

/// Evaluates an expression with the variables of the innermost call of the program on this thread. Returns how Python
/// writes the result.
pub fn evaluate(py: Python<'_>, expression: &str) -> PyResult<String> {
    /// As much as fits into an answer.
    const MOST: usize = 1 << 16;
    let Some(frame) = Frames::new(py)?.innermost(py)? else {
        return Err(Failure::debug("no code of the program is being executed on this thread").into());
    };
    let variables = (frame.getattr(intern!(py, "f_globals"))?, frame.getattr(intern!(py, "f_locals"))?);
    let eval = py.import("builtins")?.getattr("eval")?;
    let value = eval.call1((expression.trim(), variables.0, variables.1))?;
    let mut text: String = value.repr()?.extract()?;
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
        text.push_str("...");
    }
    Ok(text)
}

fn is_of_program(file: &str, foreign: &[String]) -> bool {
    // The last of the directories is that of Python's library, in which packages of others are installed, too.
    let is_installed = file.contains("/site-packages/") || file.contains("/dist-packages/");
    let own = if is_installed { &foreign[..2] } else { foreign };
    !file.starts_with('<') && !own.iter().any(|directory| file.starts_with(directory.as_str()))
}
