"""The examples with models of other packages: decisions that a server makes are those of the model."""

import numpy as np
import pytest
from e2e_cases import example

pytest.importorskip("sklearn")


@pytest.mark.parametrize("name", ["logistic regression", pytest.param("support vectors", marks=pytest.mark.slow)])
def test_patients_get_the_decisions_of_scikit_learn_by_files(name, tmp_path):
    cancer = example("models/breast_cancer")
    x, held, y, labels = cancer.data()
    pipeline = cancer.fitted(x, y)[name]
    assert pipeline.score(held, labels) > 0.95
    answers = cancer.served(tmp_path, cancer.compiled(pipeline, x), pipeline, held[:3])
    assert answers.found == answers.expected and np.all(answers.certain)
    assert {each.name for each in tmp_path.iterdir()} >= {"model.lwplan", "model.lwclient", "keys", "for-server"}
