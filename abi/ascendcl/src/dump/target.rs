use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use opscope::dump::ascend::ChunkTarget;

use super::chunk::Chunk;
use super::queue;

/// Takes the chunks of a model's files, and puts them into the queue.
pub struct ModelTarget {
    /// The directory of the dump.
    pub directory: PathBuf,
    /// The model's id, which stands in the paths.
    pub model_id: u32,
    /// Whether files are written if there is no callback.
    pub to_disk: bool,
    /// The index of each run that was dumped, in their order.
    pub runs: HashMap<u64, usize>,
}

impl ChunkTarget for ModelTarget {
    fn chunk(&mut self, path: &Path, bytes: &[u8], last: bool) -> Result<(), String> {
        let within = self.path(path);
        let path = self.directory.join(within);
        let chunk = Chunk::new(&path, bytes, last);
        let chunk = chunk.ok_or_else(|| format!("{} cannot be a chunk: no memory, or too long", path.display()))?;
        queue::put(chunk, path, self.to_disk)
    }
}

impl ModelTarget {
    /// Returns the path of a file in the dump, `<device>/<model name>/<model id>/<data index>/<file>`, of the one that the sink gives, which
    /// has the number of the plan and of the run.
    fn path(&mut self, given: &Path) -> PathBuf {
        let parts: Vec<_> = given.components().filter_map(normal).collect();
        let [device, name, _plan, run, file] = parts[..] else { return given.to_owned() };
        let next = self.runs.len();
        let run = run.to_str().and_then(|run| run.parse().ok()).unwrap_or(0);
        let index = *self.runs.entry(run).or_insert(next);
        Path::new(device).join(name).join(self.model_id.to_string()).join(index.to_string()).join(file)
    }
}

fn normal(part: Component<'_>) -> Option<&std::ffi::OsStr> {
    match part {
        Component::Normal(part) => Some(part),
        _ => None,
    }
}
