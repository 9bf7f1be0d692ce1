//! How an engine prepares a model.

use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope::engine::EngineSpec;
use opscope::model::{Engine, Fidelity, LoadOptions};
use opscope::onnx::Graph;
use opscope::{Session, SessionError};
use opscope_job::inputs::{Data, ShapeSpec, concrete_shapes, generate};
use serde_json::json;

use crate::exit::Failure;

/// An engine, and whether it loads a model at each fidelity.
pub struct Verdict {
    engine: Arc<dyn Engine>,
    plans: Vec<(Fidelity, Result<Preparation, SessionError>)>,
}

/// How far an engine got with a model.
enum Preparation {
    /// It made a plan.
    Plan {
        /// How many kernels a run executes.
        kernels: usize,
    },
    /// It loaded the model, but inputs cannot be generated.
    Model,
}

impl Verdict {
    /// Lets an engine prepare plans of a model, for inputs of the smallest shapes.
    ///
    /// # Errors
    /// Returns an error if there is no such engine.
    pub fn of(graph: &Arc<Graph>, engine: &EngineSpec) -> Result<Self, Failure> {
        let engine = engine.open().map_err(|error| Failure::engine(&error))?;
        let plan = |fidelity| (fidelity, prepared(&engine, graph, fidelity));
        let plans = Fidelity::ALL.map(plan).into();
        Ok(Self { engine, plans })
    }

    /// Returns whether it loads the model at every fidelity.
    pub fn is_loaded(&self) -> bool {
        self.plans.iter().all(|(_, plan)| plan.is_ok())
    }

    /// Returns one line per fidelity.
    pub fn text(&self) -> String {
        let (name, version) = (self.engine.name(), self.engine.version());
        let line = |(fidelity, plan): &(Fidelity, Result<Preparation, SessionError>)| match plan {
            Ok(Preparation::Plan { kernels }) => {
                format!("{name} {version}, {fidelity}: loads it; a run executes {kernels} kernels")
            }
            Ok(Preparation::Model) => format!("{name} {version}, {fidelity}: loads it"),
            Err(error) => format!("{name} {version}, {fidelity}: does not load it: {error}"),
        };
        self.plans.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Returns the engine, and an object per fidelity.
    pub fn json(&self) -> serde_json::Value {
        let plan = |(fidelity, plan): &(Fidelity, Result<Preparation, SessionError>)| match plan {
            Ok(Preparation::Plan { kernels }) => json!({ "fidelity": fidelity, "loads": true, "kernels": kernels }),
            Ok(Preparation::Model) => json!({ "fidelity": fidelity, "loads": true, "kernels": null }),
            Err(error) => json!({ "fidelity": fidelity, "loads": false, "because": error.to_string() }),
        };
        let plans: Vec<_> = self.plans.iter().map(plan).collect();
        json!({ "name": self.engine.name(), "version": self.engine.version(), "plans": plans })
    }
}

/// Loads a model and makes its plan.
fn prepared(engine: &Arc<dyn Engine>, graph: &Arc<Graph>, fidelity: Fidelity) -> Result<Preparation, SessionError> {
    let options = LoadOptions::new(fidelity, NonZeroUsize::MIN);
    let session = Session::with_engine(Arc::clone(engine), Arc::clone(graph), &options)?;
    let inputs = concrete_shapes(graph, &ShapeSpec::Smallest).and_then(|shapes| generate(graph, &shapes, Data::Zero));
    Ok(match inputs {
        Ok(inputs) => Preparation::Plan { kernels: session.plan(&inputs)?.kernels().len() },
        Err(_) => Preparation::Model,
    })
}
