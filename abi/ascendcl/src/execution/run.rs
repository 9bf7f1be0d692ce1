use std::sync::Arc;

use opscope::model::{EngineError, Instrument};

use super::inputs::Input;
use super::outputs::{Empty, Outputs};
use crate::border::{Failure, codes};
use crate::contexts::aclrtStream;
use crate::data::{DATASETS, aclmdlDataset};
use crate::models::{Model, ModelId, find};
use crate::streams::Stream;
use crate::{contexts, dump, recordings};

/// A run whose arguments were checked.
pub struct Run {
    model: Arc<Model>,
    inputs: Vec<Input>,
    outputs: Outputs,
    stream: Arc<Stream>,
    /// The instrument that records it, even if the model is unloaded before the run takes place.
    recording: Option<Box<dyn Instrument>>,
}

impl Run {
    /// Checks the arguments of a run in a stream. NULL means the default stream of the current context.
    pub fn prepare(
        model: ModelId,
        input: *const aclmdlDataset,
        output: *mut aclmdlDataset,
        stream: aclrtStream,
        empty: Empty,
    ) -> Result<Self, Failure> {
        let (input, output) = (DATASETS.get(input)?, DATASETS.get(output)?);
        let model = find(model)?;
        let stream = contexts::stream(stream)?;
        let inputs = Input::all_of(&model, &input)?;
        let outputs = Outputs::of(&model, output, empty)?;
        let recording = recordings::instrument(model.id);
        Ok(Self { model, inputs, outputs, stream, recording })
    }

    /// Returns the stream.
    pub fn stream(&self) -> Arc<Stream> {
        Arc::clone(&self.stream)
    }

    /// Runs the model on this thread, after the model's previous run has ended. Writes the outputs only if `is_wanted`
    /// returns true.
    pub fn execute(self, is_wanted: impl FnOnce() -> bool) -> Result<(), Failure> {
        let Self { model, inputs, outputs, stream, recording } = self;
        let mut running = model.run()?;
        let tensors = inputs.iter().map(Input::read).collect::<Result<Vec<_>, _>>()?;
        let dumped =
            dump::instrument(model.id, &model.session, &tensors, stream.id()).map_err(|error| failure(&error))?;
        let instruments = [dumped, recording];
        let instruments: Vec<&dyn Instrument> = instruments.iter().flatten().map(|one| &**one).collect();
        let computed = model.session.run(&tensors, &instruments).map_err(|error| failure(&error))?;
        running.last.output_shapes = computed.iter().map(|tensor| tensor.shape().to_vec()).collect();
        if is_wanted() { outputs.write(&model, &computed) } else { Ok(()) }
    }
}

fn failure(error: &EngineError) -> Failure {
    let code = match error {
        EngineError::InputShape { .. } => codes::GE_SHAPE_INVALID,
        EngineError::InputCount { .. } | EngineError::InputType { .. } => codes::GE_PARAM_INVALID,
        _ => codes::RT_MODEL_EXECUTE,
    };
    Failure::new(code, "E13025", format!("the model failed: {error}"))
}
