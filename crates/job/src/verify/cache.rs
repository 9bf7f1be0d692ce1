use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope::{Session, local_time};
use opscope_model::Engine;
use opscope_tensor::Tensor;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::Verification;
use crate::machine;

/// The cached result for a model and shapes. Only the result for the inputs that ran last is kept.
///
/// Its key is made of the model's bytes, the engine's version and settings, this version of opscope, and the processor,
/// because any of them may change the kernels. The inputs also count: a kernel may drop a NaN that the model passes on.
pub(super) struct Cache {
    /// The file; `None` if nothing is cached.
    path: Option<PathBuf>,
    key: String,
    inputs: String,
}

#[derive(Serialize, Deserialize)]
struct File {
    schema: String,
    /// The whole key; the file's name has only a hash of it.
    key: String,
    /// A hash of the inputs' elements.
    inputs: String,
    verified: String,
    verification: Verification,
}

const SCHEMA: &str = "opscope.verified/3";
/// The largest size of a file in bytes, which no result reaches.
const LONGEST: u64 = 64 << 20;

impl Cache {
    pub fn of(
        session: &Session,
        reference: Option<&Arc<dyn Engine>>,
        inputs: &[Tensor],
        directory: Option<&Path>,
    ) -> Self {
        let shapes: Vec<String> = inputs.iter().map(|input| format!("{} {:?}", input.dtype(), input.shape())).collect();
        let described = |engine: &dyn Engine| {
            let settings = engine.settings().into_iter().map(|(name, value)| format!(", {name} {value}"));
            format!("{} {}{}", engine.name(), engine.version(), settings.collect::<String>())
        };
        // The exact plan is verified only against another engine.
        let against =
            reference.map(|engine| format!("; {} against {}", session.model().fidelity().name(), described(&**engine)));
        let key = format!(
            "{}; {}{}; opscope {}; {}; {} threads; {}",
            session.graph().source.xxh3,
            described(session.engine()),
            against.unwrap_or_default(),
            env!("CARGO_PKG_VERSION"),
            machine::Machine::this().cpu,
            session.threads(),
            shapes.join(", ")
        );
        let name = format!("{}-{:016x}.json", session.graph().source.xxh3, xxh3_64(key.as_bytes()));
        let mut elements = Xxh3::new();
        inputs.iter().for_each(|input| elements.update(input.bytes()));
        let inputs = format!("{:016x}", elements.digest());
        Self { path: directory.map(|directory| directory.join(name)), key, inputs }
    }

    /// Returns an earlier result, or `None` if there is none or its file cannot be read.
    pub fn read(&self) -> Option<Verification> {
        let text = opscope_files::read(self.path.as_ref()?, LONGEST).ok()?;
        let file: File = serde_json::from_slice(&text).ok()?;
        let is_ours = file.schema == SCHEMA && file.key == self.key && file.inputs == self.inputs;
        is_ours.then_some(Verification { kept_since: Some(file.verified), ..file.verification })
    }

    /// Writes a result. If that fails, the next benchmark verifies again.
    pub fn write(&self, verification: &Verification) {
        let write = || {
            let path = self.path.as_ref()?;
            let directory = path.parent()?;
            // Only the owner may write there, whatever the umask is.
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).ok()?;
            let file = File {
                schema: SCHEMA.to_owned(),
                key: self.key.clone(),
                inputs: self.inputs.clone(),
                verified: local_time().format("%Y-%m-%d").to_string(),
                verification: verification.clone(),
            };
            let part = path.with_extension(format!("{}.part", std::process::id()));
            let mut written = fs::File::create_new(&part).ok()?;
            let done = serde_json::to_vec_pretty(&file).ok().and_then(|text| written.write_all(&text).ok());
            match done.and_then(|()| fs::rename(&part, path).ok()) {
                Some(()) => Some(()),
                None => fs::remove_file(&part).ok(),
            }
        };
        let _ = write();
    }
}
