//! The search for the fastest right plan, with an engine that has faults in some of its forms.

use std::any::Any;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope::Session;
use opscope::model::{
    Capabilities, DeviceTensors, Engine, EngineError, Fidelity, Kernel, LoadOptions, Model, Plan, PlanForm, RunId,
    RunObserver,
};
use opscope::onnx::{Graph, ValueId};
use opscope::tensor::{Tensor, TensorView};
use opscope::verify::{Outcome, Verification, Verify, VerifyOptions, verify};
use opscope_clock::Ticks;

/// How a form of the plan is wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// In every run.
    Always,
    /// From the second run on, like a plan that reuses data of the first.
    Later,
    /// It cannot be planned.
    Refused,
}

/// The embedded engine, with faults in some of its forms.
struct Faulty {
    inner: Session,
    faults: Vec<(&'static str, Fault)>,
    /// Models that were loaded.
    loaded: AtomicU64,
}

struct FaultyModel {
    inner: Arc<dyn Model>,
    fault: Option<Fault>,
}

struct FaultyPlan {
    inner: Arc<dyn Plan>,
    fault: Option<Fault>,
    runs: AtomicU64,
}

struct Doubled(Vec<Tensor>);

impl Engine for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.engine().capabilities()
    }

    fn forms(&self) -> Vec<PlanForm> {
        self.inner.engine().forms()
    }

    fn load(&self, graph: Arc<Graph>, options: &LoadOptions) -> Result<Arc<dyn Model>, EngineError> {
        self.loaded.fetch_add(1, Ordering::Relaxed);
        let forms = self.forms();
        let form = options.form.as_ref().unwrap_or(&forms[0]);
        let fault = self.faults.iter().find(|(name, _)| *name == form.name()).map(|(_, fault)| *fault);
        let fault = fault.filter(|_| options.fidelity == Fidelity::Optimised);
        Ok(Arc::new(FaultyModel { inner: self.inner.engine().load(graph, options)?, fault }))
    }
}

impl Model for FaultyModel {
    fn graph(&self) -> &Arc<Graph> {
        self.inner.graph()
    }

    fn fidelity(&self) -> Fidelity {
        self.inner.fidelity()
    }

    fn plan(&self, inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        if self.fault == Some(Fault::Refused) {
            return Err(EngineError::Load { node: None, reason: "a rewrite failed".to_owned() });
        }
        let inner = self.inner.plan(inputs)?;
        Ok(Arc::new(FaultyPlan { inner, fault: self.fault, runs: AtomicU64::new(0) }))
    }
}

impl Plan for FaultyPlan {
    fn kernels(&self) -> &Arc<[Kernel]> {
        self.inner.kernels()
    }

    fn made(&self) -> (Ticks, Ticks) {
        self.inner.made()
    }

    fn notes(&self) -> &[String] {
        self.inner.notes()
    }

    fn memory(&self) -> opscope_model::RunMemory {
        self.inner.memory()
    }

    fn constants(&self, visit: &mut dyn FnMut(ValueId, TensorView<'_>) -> io::Result<()>) -> io::Result<()> {
        self.inner.constants(visit)
    }

    fn upload(&self, inputs: &[Tensor]) -> Result<Box<dyn DeviceTensors>, EngineError> {
        self.inner.upload(inputs)
    }

    fn run(
        &self,
        run: RunId,
        inputs: &dyn DeviceTensors,
        observer: &dyn RunObserver,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let outputs = self.inner.run(run, inputs, observer)?;
        let is_first = self.runs.fetch_add(1, Ordering::Relaxed) == 0;
        if self.fault.is_none() || (is_first && self.fault == Some(Fault::Later)) {
            return Ok(outputs);
        }
        let doubled = (0..outputs.len()).map(|slot| {
            let output = outputs.view(slot).to_tensor().unwrap();
            let elements: Vec<f32> =
                output.bytes().as_chunks().0.iter().map(|&bytes| 2.0 * f32::from_le_bytes(bytes)).collect();
            Tensor::from_f32(output.shape().to_vec(), &elements).unwrap()
        });
        Ok(Box::new(Doubled(doubled.collect())))
    }
}

impl DeviceTensors for Doubled {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn view(&self, index: usize) -> TensorView<'_> {
        self.0[index].view()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The digits model on an engine with these faults, and an input of zeros.
fn faulty(faults: &[(&'static str, Fault)]) -> (Session, Arc<Faulty>, Vec<Tensor>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/digits_cnn.onnx");
    let inner = Session::load(&path, Fidelity::Optimised, NonZeroUsize::MIN).unwrap();
    let graph = Arc::clone(inner.graph());
    let engine = Arc::new(Faulty { inner, faults: faults.to_vec(), loaded: AtomicU64::new(0) });
    let options = LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN);
    let session = Session::with_engine(Arc::clone(&engine) as Arc<dyn Engine>, graph, &options).unwrap();
    (session, engine, vec![Tensor::from_f32(vec![1, 1, 8, 8], &[0.0; 64]).unwrap()])
}

fn verified(faults: &[(&'static str, Fault)], when: Verify) -> (Verification, Session, Vec<Tensor>) {
    let (session, _, inputs) = faulty(faults);
    let options = VerifyOptions { when, cache_directory: None };
    let (verification, other) = verify(&session, &inputs, 10, &options).expect("the model runs");
    (verification, other.unwrap_or(session), inputs)
}

/// The sum of the probabilities of a session's second run: 1 if it is right.
fn sum(session: &Session, inputs: &[Tensor]) -> f32 {
    session.run(inputs, &[]).unwrap();
    let outputs = session.run(inputs, &[]).unwrap();
    outputs[0].bytes().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).sum()
}

fn form(verification: &Verification) -> &str {
    match &verification.outcome {
        Outcome::Right { form, .. } => form,
        Outcome::Skipped { because } => panic!("{because}"),
    }
}

#[test]
fn a_plan_that_is_right_stays_and_its_kernels_are_known_by_their_values() {
    let (verification, session, inputs) = verified(&[], Verify::On);
    assert_eq!(form(&verification), "every rewrite");
    assert!(verification.wrong.is_empty());
    assert!((sum(&session, &inputs) - 1.0).abs() < 1e-4);
    let softmax = verification.kernels.iter().find(|found| found.value == "probabilities");
    assert!(softmax.is_some_and(|found| found.same_order), "{:?}", verification.kernels);
}

#[test]
fn the_first_form_that_is_right_runs_and_the_wrong_ones_are_named_with_what_they_give() {
    let faults = [("every rewrite", Fault::Always), ("every rewrite but ChangeAxes", Fault::Refused)];
    let (verification, session, inputs) = verified(&faults, Verify::On);
    assert_eq!(form(&verification), "every rewrite but PushSliceUp");
    assert!((sum(&session, &inputs) - 1.0).abs() < 1e-4);
    let [own, refused] = &verification.wrong[..] else { panic!("{:?}", verification.wrong) };
    assert_eq!((&*own.form, &*own.outputs[0].output), ("every rewrite", "probabilities"));
    assert!((own.outputs[0].of_largest.unwrap() - 1.0).abs() < 1e-3, "twice the right output is off by all of it");
    assert!(refused.fails_with.as_ref().is_some_and(|reason| reason.contains("a rewrite failed")));
    let sentences = verification.sentences();
    assert!(sentences[0].contains("probabilities by 1.00 of its largest element"), "{sentences:?}");
    assert!(sentences[2].contains("runs with every rewrite but PushSliceUp"), "{sentences:?}");
}

#[test]
fn a_plan_that_goes_wrong_only_from_the_second_run_on_is_found() {
    let (verification, session, inputs) = verified(&[("every rewrite", Fault::Later)], Verify::On);
    assert_eq!(verification.wrong.len(), 1);
    assert!((sum(&session, &inputs) - 1.0).abs() < 1e-4);
}

#[test]
fn where_no_form_is_right_the_exact_plan_runs() {
    let (session, ..) = faulty(&[]);
    let names: Vec<&'static str> =
        session.engine().forms().iter().map(|form| &*Box::leak(form.name().to_owned().into_boxed_str())).collect();
    let faults: Vec<_> = names.into_iter().map(|name| (name, Fault::Always)).collect();
    let (verification, session, inputs) = verified(&faults, Verify::On);
    assert_eq!(verification.wrong.len(), faults.len());
    assert_eq!(session.model().fidelity(), Fidelity::Exact);
    assert!((sum(&session, &inputs) - 1.0).abs() < 1e-4);
}

#[test]
fn off_means_that_the_engines_own_plan_runs_whatever_it_gives() {
    let (session, _, inputs) = faulty(&[("every rewrite", Fault::Always)]);
    let options = VerifyOptions { when: Verify::Off, cache_directory: None };
    assert!(verify(&session, &inputs, 1, &options).is_none());
}

#[test]
fn what_was_found_is_kept_for_the_model_and_the_shapes_and_looked_for_anew_when_asked() {
    let kept = tempfile::tempdir().unwrap();
    let (session, engine, inputs) = faulty(&[("every rewrite", Fault::Always)]);
    let loaded = || engine.loaded.load(Ordering::Relaxed);
    let options = |when| VerifyOptions { when, cache_directory: Some(kept.path().join("opscope")) };
    let (found, _) = verify(&session, &inputs, 1, &options(Verify::On)).unwrap();
    let before = loaded();
    let (again, other) = verify(&session, &inputs, 1, &options(Verify::Auto)).unwrap();
    assert_eq!(loaded(), before + 1, "only the session to run is loaded");
    assert!(again.kept_since.is_some());
    assert_eq!((form(&again), &again.wrong, &again.kernels), (form(&found), &found.wrong, &found.kernels));
    assert!((sum(&other.unwrap(), &inputs) - 1.0).abs() < 1e-4);
    let larger = vec![Tensor::from_f32(vec![2, 1, 8, 8], &[0.0; 128]).unwrap()];
    assert!(verify(&session, &larger, 1, &options(Verify::On)).unwrap().0.kept_since.is_none());
    assert!(verify(&session, &inputs, 1, &options(Verify::On)).unwrap().0.kept_since.is_none());

    // A file that was cut short counts as none.
    for file in std::fs::read_dir(kept.path().join("opscope")).unwrap() {
        std::fs::write(file.unwrap().path(), "{").unwrap();
    }
    assert!(verify(&session, &inputs, 1, &options(Verify::Auto)).is_some_and(|(found, _)| found.kept_since.is_none()));
}
