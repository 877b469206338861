"""Block coordinate descent on the dual of joint multiclass risks: Wang and Scott (2021), Algorithm 1."""
