"""Training: fine-tuning with masks or a salience loss, and ROAR's retraining."""

from faithlib.lazy import offers

_HOME = {
    "Recipe": "fine_tuning",
    "evaluate": "fine_tuning",
    "fine_tune": "fine_tuning",
    "masked": "minibatches",
    "performance": "fine_tuning",
    "recipe": "fine_tuning",
}
__all__ = sorted(_HOME)
__getattr__ = offers(__name__, _HOME)
