"""The recipe for MLflow in docs/deploying.md: the model's own file, with the report as an artifact."""

import numpy as np
import pytest

import ratebound as rb

pandas = pytest.importorskip("pandas")


@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred:UserWarning")  # as MLflow is imported
def test_a_logged_model_decides_as_before(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    random = np.random.default_rng(0)
    people = pandas.DataFrame(
        {"income": random.normal(3, 1, 300), "sex": random.choice(["f", "m"], 300)}
    )
    labels = np.where(people["income"] + random.normal(0, 0.7, 300) > 3.2, "yes", "no")
    promise = 'positive_rate(sex == "f") >= 0.4'
    model = rb.RateConstrainedClassifier(promise, features=["income"], random_state=0)
    model.fit(people, labels)

    class Decides(mlflow.pyfunc.PythonModel):
        def load_context(self, context):
            self.policy = rb.load(context.artifacts["model"])

        def predict(self, context, model_input, params=None):
            return pandas.DataFrame({"decision": self.policy.predict(model_input)})

    report = tmp_path / "report.html"
    report.write_text(model.audit(people, labels).render("html"))
    with mlflow.start_run():
        files = {"model": str(model.save(tmp_path / "model")), "report": str(report)}
        logged = mlflow.pyfunc.log_model(name="model", python_model=Decides(), artifacts=files)
    back = mlflow.pyfunc.load_model(logged.model_uri)
    assert (back.predict(people)["decision"] == model.predict(people)).all()
